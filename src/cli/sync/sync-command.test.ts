import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { runCommand } from '../../../test/support/command-context.ts';
import { plannedSync } from '../../../test/support/sync-plan.ts';
import { parseDuration } from '../../node/configuration/setting-types.ts';
import { type GeneratedSigningKey, generateSigningKey } from '../../snapshot/signing/seal.ts';
import type { SyncFlags } from './plan-sync.ts';

const files = new Map<string, string>([
  ['ca.crt', 'CA'],
  ['sync.crt', 'CERTIFICATE'],
  ['sync.key', 'KEY'],
  ['noise', 'hunter2'],
]);
let key: GeneratedSigningKey;
let directory: string;

before(async () => {
  key = await generateSigningKey('EdDSA');
  files.set('signing-key.json', JSON.stringify(key.privateJwk));
  files.set('keys.json', JSON.stringify({ keys: [key.publicJwk] }));
  directory = await mkdtemp(join(tmpdir(), 'sync-command-'));
});
after(() => rm(directory, { recursive: true, force: true }));

const run = (args: readonly string[]) => runCommand(files, args);

const complete: SyncFlags = {
  server: ['cp-a=https://10.0.0.1:6443', 'cp-b=https://[fd00::2]:6443'],
  'peer-ca-file': ['ca.crt'],
  'client-cert-file': ['sync.crt'],
  'client-key-file': ['sync.key'],
  target: ['https://10.0.0.1:7443'],
  'signing-key': ['signing-key.json'],
};

/** Flags to change; `undefined` leaves one out. */
type Changes = { readonly [Name in keyof SyncFlags]: SyncFlags[Name] | undefined };

function planned(changes: Changes) {
  const given = Object.entries({ ...complete, ...changes }).filter(([, values]) => values !== undefined);
  return plannedSync(Object.fromEntries(given), files);
}

function plan(changes: Changes) {
  const { plan, issues } = planned(changes);
  assert.equal(issues, '');
  return plan;
}

function issuesOf(changes: Changes): string {
  const { issues } = planned(changes);
  assert.notEqual(issues, '', 'there are errors');
  return issues;
}

describe('the files of sync', () => {
  it('that hold no certificate or key are named with their flags, all at once', async () => {
    const given = Object.entries({ ...complete, 'target-ca-file': ['noise'] });
    const args = given.flatMap(([name, values]) => values.map((value) => `--${name}=${value}`));
    const { code, errors } = await run(['sync', ...args]);
    assert.equal(code, 2);
    const [keyError = '', ...others] = errors.trimEnd().split('\n').reverse();
    assert.match(keyError, /^error: --client-key-file: sync\.key holds no usable PEM private key/);
    assert.deepEqual(others.reverse(), [
      'error: --peer-ca-file: ca.crt holds no PEM certificate',
      'error: --target-ca-file: noise holds no PEM certificate',
      'error: --client-cert-file: sync.crt holds no PEM certificate',
    ]);
  });
});

describe('the flags of sync', () => {
  it('make a job that reads the servers and pushes to the routers', () => {
    const live = plan({ cluster: ['blue'], out: ['copy'] });
    assert.ok(live.kind === 'live');
    const { options, once } = live;
    assert.equal(once, false);
    assert.deepEqual(options.servers, [
      { id: 'cp-a', url: 'https://10.0.0.1:6443' },
      { id: 'cp-b', url: 'https://[fd00::2]:6443' },
    ]);
    assert.deepEqual(options.routers, [{ url: 'https://10.0.0.1:7443', serverName: undefined }]);
    assert.deepEqual(options.clientCertificate, { certificate: 'CERTIFICATE', key: 'KEY' });
    assert.deepEqual(options.files, [{ file: 'copy', unsigned: false }]);
    assert.equal(options.certificateAuthorities, 'CA');
    assert.equal(options.signingKey?.kid, key.kid);
    assert.equal(options.cluster, 'blue');
  });

  it('report every error at once', () => {
    const issues = issuesOf({
      server: ['cp-a', 'cp-b=http://10.0.0.2', 'cp-c=https://10.0.0.3'],
      'peer-ca-file': undefined,
      'client-cert-file': ['missing.crt'],
      target: ['10.0.0.1'],
      'departed-server-grace': ['a while'],
      unsigned: ['true'],
    });
    for (const expected of [
      /--server must be id=https:\/\/host:port, not "cp-a"/,
      /--server of cp-b must begin with https:\/\/, not "cp-b=http:\/\/10\.0\.0\.2"/,
      /--peer-ca-file is required/,
      /--client-cert-file: cannot read missing\.crt/,
      /--target must begin with https:\/\/, not "10\.0\.0\.1"/,
      /--departed-server-grace must be a duration/,
      /--unsigned needs --out/,
    ]) {
      assert.match(issues, expected);
    }
  });

  it('refuse two servers of one ID', () => {
    const server = ['cp-c=https://10.0.0.3', 'cp-c=https://10.0.0.4'];
    assert.equal(issuesOf({ server }), '--server names cp-c twice');
  });

  it('ask for what is missing, each where it is needed', () => {
    assert.match(issuesOf({ server: undefined }), /--server is required/);
    assert.match(issuesOf({ target: undefined }), /--target or --out is required/);
    assert.match(issuesOf({ 'signing-key': undefined }), /--target needs --signing-key/);
    assert.match(
      issuesOf({ 'signing-key': undefined, out: ['copy'] }),
      /--out needs --signing-key, or --unsigned/,
    );
    assert.match(
      issuesOf({ 'client-cert-file': undefined, 'client-key-file': undefined }),
      /--target needs --client-cert-file and --client-key-file, or --target-token-file/,
    );
    assert.match(issuesOf({ 'client-key-file': undefined }), /--client-key-file is required/);
    assert.match(issuesOf({ once: ['true'], 'health-port': ['80'] }), /--health-port has no use with --once/);
    assert.match(issuesOf({ from: ['recorded'] }), /--target has no use with --from/);
    assert.match(issuesOf({ from: ['recorded'] }), /--from needs --out/);
  });

  it('are no flags when they are blank: a cluster without a name made no valid snapshot', () => {
    for (const name of ['cluster', 'state-file', 'out', 'kubeconfig', 'target-server-name'] as const) {
      assert.match(issuesOf({ [name]: [''] }), new RegExp(`^empty value in "--${name}"$`, 'm'));
    }
  });

  it('refuse a signing key that is none, without showing it', () => {
    assert.match(issuesOf({ 'signing-key': ['keys.json'] }), /--signing-key: keys\.json cannot be used/);
    const noise = issuesOf({ 'signing-key': ['noise'] });
    assert.match(noise, /it is not JSON/);
    assert.doesNotMatch(noise, /hunter2/);
  });
});

describe('durations', () => {
  it('are read as Go writes them', () => {
    assert.equal(parseDuration('1s'), 1000);
    assert.equal(parseDuration('500ms'), 500);
    assert.equal(parseDuration('1h30m'), 5_400_000);
    assert.equal(parseDuration('1.5s'), 1500);
    for (const wrong of ['', '5', 's', '-1s', '1 s', '1d', '1s2', '1.s']) {
      assert.equal(parseDuration(wrong), undefined, wrong);
    }
  });
});

describe('sync of recorded answers', () => {
  const fixtures = resolve(import.meta.dirname, '..', '..', '..', 'test', 'fixtures');
  const recorded = join(fixtures, 'kubernetes-1.26-batch-disabled');
  const jobs = ['explain', 'GET', '/apis/batch/v1/jobs', '--snapshot'];

  it('makes an unsigned snapshot that explain sends a request for the disabled API to the other server by', async () => {
    const file = join(directory, 'snapshot.json');
    const nothing = await run(['sync', '--from', `${recorded}-not`, '--out', file, '--unsigned']);
    assert.equal(nothing.code, 2);
    assert.match(nothing.errors, /^error: --from: .*no such file or directory/);
    const made = await run(['sync', '--from', recorded, '--out', file, '--unsigned']);
    assert.equal(made.code, 0, made.errors);
    files.set(file, await readFile(file, 'utf8'));
    const seenFromA = await run([...jobs, file, '--server-id', 'a', '-o', 'json']);
    const { decision, reason, candidates } = JSON.parse(seenFromA.output);
    assert.deepEqual([decision, reason], ['peer', 'ServedByPeer']);
    assert.deepEqual(
      candidates.map(({ id }: { id: string }) => id),
      ['b'],
    );
    const seenFromB = await run([...jobs, file, '--server-id', 'b', '-o', 'json']);
    assert.equal(JSON.parse(seenFromB.output).reason, 'ServedLocally');
  });

  it('makes a signed snapshot, with the addresses that are given', async () => {
    const file = join(directory, 'snapshot.jws');
    const server = 'b=https://10.0.0.2:6443';
    const made = await run([
      ...['sync', '--from', recorded, '--out', file],
      ...['--signing-key', 'signing-key.json', '--server', server],
    ]);
    assert.equal(made.code, 0, made.errors);
    files.set(file, await readFile(file, 'utf8'));
    const { output } = await run([...jobs, file, '--snapshot-keys', 'keys.json', '--server-id', 'a']);
    assert.match(output, /^ {2}b {2}10\.0\.0\.2:6443 /m);
    assert.match(output, new RegExp(`signed with key ${key.kid}`));
  });

  it('ends with exit code 2 for a folder that is none and a server that was not recorded', async () => {
    const out = ['--out', join(directory, 'x'), '--unsigned'];
    assert.equal((await run(['sync', '--from', join(directory, 'nowhere'), ...out])).code, 2);
    const unknown = await run(['sync', '--from', recorded, '--server', 'z=https://10.0.0.9:6443', ...out]);
    assert.equal(unknown.code, 2);
    assert.match(unknown.errors, /no recording of server z/);
  });
});
