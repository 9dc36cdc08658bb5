import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runCommand } from '../../../test/support/commands/command-context.ts';
import { routerToAsk } from '../../../test/support/routers/router-to-ask.ts';
import { snapshotOf } from '../../../test/support/snapshots/snapshot-builder.ts';

const schemaOf = (minor: string) => ({ 'batch.jobs': { v1: btoa(`min-${minor}`) } });
const snapshot = snapshotOf({
  a: { version: 'v1.35.0', serves: ['batch/v1/jobs'], schemas: schemaOf('1.35') },
  b: { version: 'v1.36.0', serves: ['batch/v1/jobs', 'apps/v1/deployments'], schemas: schemaOf('1.36') },
});
const files = new Map([['snapshot.json', JSON.stringify(snapshot)]]);
const explain = async (url: string, ...flags: readonly string[]) =>
  (await runCommand(files, ['explain', 'GET', url, '--snapshot', 'snapshot.json', ...flags])).output;

describe('explain, of a running router', () => {
  it('says where the router has a request go, by its own ID, settings and health, and whose view that is', async (context) => {
    const { explain, push, started } = await routerToAsk(context);
    const before = await explain('admin', 'GET', '/apis/apps/v1/deployments');
    assert.match(before.output, /^Reason: +NoSnapshot\b/m);
    await push();
    const { output, errors, code } = await explain('admin', 'GET', '/apis/apps/v1/deployments');
    assert.deepEqual([code, errors], [0, '']);
    assert.match(output, /^Decision: +peer/m);
    assert.match(output, /^Seen from: +cp-a$/m);
    assert.match(output, new RegExp(`^Note: +as https://127\\.0\\.0\\.1:${started.port} has it$`, 'm'));
    const json = JSON.parse((await explain('admin', 'GET', '/apis/apps/v1/deployments', '-o=json')).output);
    assert.deepEqual(
      json.candidates.map(({ id }: { id: string }) => id),
      ['cp-b'],
    );
  });

  it('asks it for each of many requests, and tells the four fields of the contract', async (context) => {
    const { explainLines, push } = await routerToAsk(context);
    await push();
    const { output, errors, code } = await explainLines([
      '{"method":"GET","url":"/apis/apps/v1/deployments","headers":{"a":"b"}}',
      '{"method":"GET","url":"*"}',
      '{',
      `{"method":"GET","url":"/${'x'.repeat(70_000)}"}`,
      '{"method":"GET","url":"/version"}',
    ]);
    assert.equal(code, 1);
    assert.match(errors, /^note: as https:/);
    const lines = output
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual(Object.keys(lines[0]), ['requestInfo', 'decision', 'reason', 'candidates']);
    assert.deepEqual(
      lines.map(({ decision, line }) => decision ?? line),
      ['peer', 'refused', 3, 4, 'local'],
    );
    assert.match(lines[3].error, /returned 400: .* longer than 65536 bytes/);
  });

  it('says why the router does not tell, and refuses two sources', async (context) => {
    const { explain } = await routerToAsk(context);
    const refused = await explain('stranger', 'GET', '/api/v1/pods');
    assert.equal(refused.code, 1);
    assert.match(refused.errors, /returned 403: .*v1\/explain": bind the caller to cluster-admin, or to a/);
    const others = ['--snapshot=snapshot.json', '--server-id=a', '--preferred-version=oldest'];
    const both = await explain('admin', 'GET', '/api/v1/pods', ...others);
    for (const flag of ['snapshot', 'server-id', 'preferred-version'])
      assert.match(both.errors, new RegExp(`--${flag} goes without a router to ask`));
  });

  it('says that it answers from nothing', async () => {
    const { output } = await runCommand(new Map(), ['explain', 'GET', '/api/v1/pods']);
    assert.match(output, /^Note: +answered from nothing, .*: give --kubeconfig or --server/m);
  });
});

describe('explain, of servers of several versions', () => {
  it('names who is asked when no candidate is healthy', async () => {
    const text = await explain('/apis/batch/v1/jobs');
    assert.match(text, /^Candidates:\n {2}b /m);
    assert.match(text, /^If none is healthy: +a$/m);
    assert.doesNotMatch(await explain('/apis/apps/v1/deployments'), /If none is healthy/);
  });

  it('names the version that responds while the server of the preferred one has departed', async () => {
    const [a, b] = snapshot.servers;
    assert.ok(a !== undefined && b !== undefined);
    const departed = { ...snapshot, servers: [a, { ...b, departedAt: snapshot.metadata.createdAt }] };
    const ask = async (...flags: readonly string[]) => {
      const input = new Map([['snapshot.json', JSON.stringify(departed)]]);
      const given = ['explain', 'GET', '/apis/batch/v1/jobs', '--snapshot', 'snapshot.json', ...flags];
      return (await runCommand(input, given)).output;
    };
    const version = /^Version: +1\.36 is preferred, but no server of it is healthy: 1\.35 answers$/m;
    assert.match(await ask(), version);
    assert.doesNotMatch(await explain('/apis/batch/v1/jobs'), /^Version:/m);
    const { decision, reason, versionInstead } = JSON.parse(await ask('-o', 'json'));
    assert.deepEqual([decision, reason], ['peer', 'PreferredVersion']);
    assert.deepEqual(versionInstead, { preferred: '1.36', responding: '1.35' });
  });

  it('does not speak of a comparison where one server alone serves a resource', async () => {
    const text = await explain('/apis/apps/v1/deployments', '--server-id=b');
    assert.match(text, /3a Does it matter which version answers\? No: the servers that serve it agree$/m);
  });
});
