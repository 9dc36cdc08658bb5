import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { exampleCluster } from '../../../test/support/clusters/example-cluster.ts';
import { commandContext, runCommand } from '../../../test/support/commands/command-context.ts';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import { parseDuration } from '../../node/configuration/setting-types.ts';
import { type GeneratedSigningKey, generateSigningKey } from '../../snapshot/signing/seal.ts';
import { givenByFlags, Settings } from '../settings/read-settings.ts';
import { planSync, type SyncFlags } from './plan-sync.ts';
import { syncFlags } from './sync-settings.ts';

// Messages about flags, alone and together, stand in test/fixtures/flags (test/flags/golden.test.ts).

const files = new Map<string, string>([
  ['ca.crt', 'CA'],
  ['sync.crt', 'CERTIFICATE'],
  ['sync.key', 'KEY'],
  ['noise', 'hunter2'],
  ['token', 'first\n'],
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

/** The plan of `sync`, and a line for each error. */
function planned(changes: Changes) {
  const given = Object.entries({ ...complete, ...changes }).filter(([, values]) => values !== undefined);
  const settings = new Settings(
    syncFlags,
    [givenByFlags(syncFlags, Object.fromEntries(given))],
    commandContext(files).context.readFile,
  );
  const plan = planSync(settings);
  return { plan, issues: settings.issues.map(({ message }) => message).join('\n') };
}

function live(changes: Changes) {
  const { plan, issues } = planned(changes);
  assert.equal(issues, '');
  assert.ok(plan.kind === 'live');
  return plan;
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
    const { options, once } = live({ cluster: ['blue'], out: ['copy'] });
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

  it('find and reach the servers by a kubeconfig, beside which servers and authorities go', () => {
    const given = { kubeconfig: ['admin.conf'], context: ['blue'] };
    const found = live({ ...given, server: undefined, 'peer-ca-file': undefined }).options;
    assert.deepEqual(found.kubernetes, { kubeconfig: 'admin.conf', context: 'blue' });
    assert.deepEqual([found.servers, found.certificateAuthorities], [[], undefined]);
    const { servers, certificateAuthorities } = live(given).options;
    assert.deepEqual([servers.length, certificateAuthorities], [2, 'CA']);
  });

  it('name routers and Workers, whose token is read when it is needed', () => {
    const { options } = live({
      'target-server-name': ['router.example.com'],
      'target-token-file': ['token'],
      'worker-target': ['https://router.example.workers.dev'],
    });
    assert.deepEqual(options.routers, [
      { url: 'https://10.0.0.1:7443', serverName: 'router.example.com' },
      { url: 'https://router.example.workers.dev', publicAuthorities: true },
    ]);
    assert.equal(options.routerBearerToken?.(), 'first');
    files.set('token', 'second');
    assert.equal(options.routerBearerToken?.(), 'second');
    // Into something that no header can carry: Node's own words would name no file.
    files.set('token', 'SECRET\u0000');
    assert.throws(() => options.routerBearerToken?.(), {
      message: '--target-token-file: token must hold one token and nothing else',
    });
  });

  it('have endpoints on loopback, elsewhere or none', () => {
    assert.deepEqual(live({}).endpoints, { address: '127.0.0.1', port: 7469 });
    const given = { 'bind-address': ['::'], 'health-port': ['80'] };
    assert.deepEqual(live(given).endpoints, { address: '::', port: 80 });
    assert.equal(live({ 'health-port': ['0'] }).endpoints, undefined);
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

it('one round through a kubeconfig writes what the cluster serves', async (context) => {
  const cluster = await exampleCluster(context);
  const a = await cluster.start('cp-a', '1.36');
  const b = await cluster.start('cp-b', '1.26');
  const out = join(await temporaryDirectory(context), 'snapshot.json');
  const given = ['sync', '--once', '--unsigned', '--allow-loopback-peers', `--out=${out}`];
  const { code, errors } = await run([...given, `--kubeconfig=${await cluster.kubeconfig(a.url)}`]);
  assert.equal(code, 0, errors);
  const { servers } = JSON.parse(await readFile(out, 'utf8'));
  assert.deepEqual(
    servers.map(({ id }: { id: string }) => id),
    [a.serverId, b.serverId].sort(),
  );
  const unusable = await run([...given, '--kubeconfig=/nowhere/kubeconfig']);
  assert.equal(unusable.code, 2);
  assert.match(unusable.errors, /\/nowhere\/kubeconfig cannot be used as a kubeconfig/);
});
