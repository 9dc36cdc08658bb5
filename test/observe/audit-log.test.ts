import assert from 'node:assert/strict';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { AuditEvent } from '../../src/observe/audit/audit-event.ts';
import { mixedCluster, type ObservedRouter, startObservedRouter } from '../support/observed-router.ts';
import { sampleValue } from '../support/prometheus-text.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { openHttp1, readUntil } from '../support/tls-client.ts';

interface AuditedRouter extends ObservedRouter {
  readonly path: string;
}

async function auditedRouter(context: TestContext, rules: readonly object[]): Promise<AuditedRouter> {
  const folder = await temporaryDirectory(context);
  const policy = join(folder, 'policy.json');
  const path = join(folder, 'audit.log');
  await writeFile(policy, JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules }));
  const router = await startObservedRouter(context, {
    'audit-policy-file': [policy],
    'audit-log-path': [path],
    v: ['3'],
  });
  return { ...router, path };
}

async function eventsOf(path: string): Promise<AuditEvent[]> {
  const lines = (await readFile(path, 'utf8')).split('\n');
  assert.equal(lines.pop(), '', 'the last line is whole');
  return lines.map((line) => JSON.parse(line));
}

const all = [
  { level: 'None', nonResourceURLs: ['/.mixed-version-proxy/*', '/metrics'] },
  { level: 'Metadata' },
];

describe('the audit log of a router', () => {
  it('has the events of every request, under the ID that its destination and its client are told', async (context) => {
    const router = await auditedRouter(context, all);
    const { started, ask, push, peer, path } = router;
    await push(mixedCluster(peer));
    await ask('/apis/batch/v1/jobs', { headers: ['audit-id', 'rerouted'] });
    await ask('/api/v1/pods', { headers: ['audit-id', 'local', 'authorization', 'Bearer hunter2hunter2'] });
    await ask('/apis/policy/v1/evictions?token=hunter2', { headers: ['audit-id', 'unanswered'] });
    const ca = started.authorities.cluster.certificate;
    const pair = await started.user('someone');
    const exec = await openHttp1(context, { port: started.port, ca, pair });
    const target = '/api/v1/namespaces/a/pods/b/exec?command=ls';
    exec.write(
      `POST ${target} HTTP/1.1\r\nHost: a\r\nAudit-ID: tunnel\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n`,
    );
    const head = await readUntil(exec, '\r\n\r\n');
    assert.match(head, /^HTTP\/1\.1 101 /);
    assert.deepEqual(head.match(/^audit-id: .*$/gim), ['Audit-ID: tunnel']);
    exec.destroy();
    await started.router.close();

    const events = await eventsOf(path);
    const stages = Object.groupBy(events, ({ auditID }) => auditID);
    const told = Object.fromEntries(
      Object.entries(stages).map(([id, of = []]) => [
        id,
        of.map(({ stage, responseStatus }) => `${stage} ${responseStatus?.code ?? ''}`.trim()),
      ]),
    );
    assert.deepEqual(told, {
      rerouted: ['RequestReceived', 'ResponseComplete 200'],
      local: ['RequestReceived', 'ResponseComplete 200'],
      unanswered: ['RequestReceived', 'ResponseComplete 503'],
      tunnel: ['RequestReceived', 'ResponseStarted 101', 'ResponseComplete 101'],
    });
    assert.equal(stages['rerouted']?.at(-1)?.annotations?.['mixed-version-proxy/destination'], 'cp-b');
    assert.equal(stages['tunnel']?.[0]?.objectRef?.subresource, 'exec');
    assert.equal(stages['tunnel']?.[0]?.user.username, 'someone');
    assert.doesNotMatch(JSON.stringify(events), /hunter2/);
    const arrived = [...started.apiServer.requests, ...peer.requests].map(({ headers }) => headers);
    for (const id of ['rerouted', 'local', 'tunnel']) {
      const named = arrived.filter((headers) => headers.includes(id));
      assert.equal(named.length, 1, id);
    }
    const lines = started.logs
      .filter(({ message }) => message === 'HTTP')
      .map(({ fields }) => fields['audit-ID']);
    for (const id of Object.keys(told)) assert.ok(lines.includes(id), `an access line of ${id}`);
  });

  it('goes on in a new file after SIGHUP, and its events are counted', async (context) => {
    const { started, ask, path, scrape } = await auditedRouter(context, all);
    await ask('/api/v1/pods', { headers: ['audit-id', 'before'] });
    await rename(path, `${path}.1`);
    await started.router.reload();
    await ask('/api/v1/pods', { headers: ['audit-id', 'after'] });
    const families = await scrape();
    const name = 'mixed_version_proxy_audit_events_total';
    assert.equal(sampleValue(families, name, { result: 'dropped' }), 0);
    await started.router.close();
    const [old, current] = [await eventsOf(`${path}.1`), await eventsOf(path)];
    assert.deepEqual(
      [...old, ...current].map(({ auditID }) => auditID),
      ['before', 'before', 'after', 'after'],
    );
    assert.equal(current.at(-1)?.auditID, 'after');
  });

  it('keeps a router from starting that cannot write it', async (context) => {
    const folder = await temporaryDirectory(context);
    const policy = join(folder, 'policy.json');
    await writeFile(policy, JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: all }));
    await assert.rejects(
      startObservedRouter(context, { 'audit-policy-file': [policy], 'audit-log-path': [folder] }),
      /--audit-log-path: EISDIR/,
    );
  });
});
