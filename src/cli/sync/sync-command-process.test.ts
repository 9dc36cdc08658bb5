import assert from 'node:assert/strict';
import { once } from 'node:events';
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { request } from 'undici';
import { eventuallyReturns, syncCluster } from '../../../test/support/clusters/sync-cluster.ts';
import { runCommand } from '../../../test/support/commands/command-context.ts';
import { startSyncProcess } from '../../../test/support/commands/sync-process.ts';

const fixtures = resolve(import.meta.dirname, '..', '..', '..', 'test', 'fixtures');

test('a sync job as a process answers for its health and metrics, and ends with 0', async (context) => {
  const cluster = await syncCluster(context);
  const server = await cluster.startServer({ version: '1.36', name: 'server' });
  const router = await cluster.startRouter(server);
  const other = await cluster.startServer({ version: '1.25', name: 'other' });
  // A port that was free a moment ago.
  const { port } = other;
  await other.close();
  const job = startSyncProcess(context, cluster, {
    servers: [server],
    flags: ['--target', router.origin, '--health-port', String(port)],
  });
  const get = async (path: string) => {
    const { statusCode, body } = await request(`http://127.0.0.1:${port}${path}`);
    return { status: statusCode, body: await body.text() };
  };
  await eventuallyReturns(
    () => get('/readyz'),
    ({ status }) => status === 200,
  );
  assert.equal((await get('/livez')).body, 'ok');
  const { body } = await get('/metrics');
  assert.match(body, /^mixed_version_proxy_sync_generation [1-9]\d{9}$/m);
  assert.match(body, /^mixed_version_proxy_sync_servers\{state="ready"\} 1$/m);
  assert.match(
    body,
    /^mixed_version_proxy_sync_deliveries_total\{target="https:.*",result="accepted"\} \d+$/m,
  );
  assert.match(body, /^mixed_version_proxy_sync_read_duration_seconds_count\{result="success"\} \d+$/m);
  job.signal('SIGTERM');
  assert.equal(await job.ended, 0, job.log());
});

test('a sync job reads all that it is given before it listens for anyone', async (context) => {
  const cluster = await syncCluster(context);
  const busy = createServer().listen(0, '127.0.0.1');
  await once(busy, 'listening');
  context.after(() => busy.close());
  const kubeconfig = join(cluster.directory, 'broken.kubeconfig');
  const { signingKey } = cluster.keyFiles;
  const files = new Map([
    [signingKey, await readFile(signingKey, 'utf8')],
    ['token', 'secret'],
  ]);
  const args = [
    ...['sync', '--kubeconfig', kubeconfig, '--signing-key', signingKey, '--target-token-file', 'token'],
    ...['--target', 'https://127.0.0.1:1', '--health-port', String((busy.address() as AddressInfo).port)],
  ];
  for (const [text, reason] of [
    ['users: [', /^error: --kubeconfig: .* cannot be used as a kubeconfig/],
    ['clusters: []', /has no cluster for its context/],
  ] as const) {
    await writeFile(kubeconfig, text);
    const { code, errors } = await runCommand(files, args);
    assert.equal(code, 2);
    assert.match(errors, reason);
    assert.doesNotMatch(errors, /--health-port/);
  }
  // A supervisor need not start it again: exit code 2.
  const ca = Buffer.from(await readFile(cluster.certificates.clusterCa)).toString('base64');
  await writeFile(
    kubeconfig,
    `{"clusters":[{"name":"c","cluster":{"server":"https://127.0.0.1:1","certificate-authority-data":"${ca}"}}],"users":[{"name":"u","user":{"token":"secret"}}],"contexts":[{"name":"x","context":{"cluster":"c","user":"u"}}],"current-context":"x"}`,
  );
  const { code, errors } = await runCommand(files, [...args.slice(0, 5), ...args.slice(7, 9), '--once']);
  assert.equal(code, 2, errors);
  assert.match(errors, /routers accept .*: give one \(--client-cert-file and .*, or --target-token-file\)/);
});

test('--record saves a folder that --from makes a snapshot of', async (context) => {
  const cluster = await syncCluster(context);
  const server = await cluster.startServer({ version: '1.26', name: 'server' });
  const folder = join(cluster.directory, 'recording');
  const { certificates } = cluster;
  const files = new Map<string, string>();
  const paths = [certificates.clusterCa, certificates.sync.certificate, certificates.sync.privateKey];
  for (const path of paths) files.set(path, await readFile(path, 'utf8'));
  const [ca = '', certificate = '', key = ''] = paths;
  const reading = ['--server', `${server.serverId}=${server.url}`, '--peer-ca-file', ca];
  const identity = ['--client-cert-file', certificate, '--client-key-file', key];
  const args = ['sync', ...reading, ...identity, '--record', folder];
  const recorded = await runCommand(files, args);
  assert.equal(recorded.code, 0, recorded.errors);
  assert.match(recorded.errors, /^wrote \d+ files to /m);
  const again = await runCommand(files, args);
  assert.equal(again.code, 1);
  assert.match(again.errors, /is not empty/);

  const out = join(cluster.directory, 'snapshot.json');
  const made = await runCommand(files, ['sync', '--from', folder, '--out', out, '--unsigned']);
  assert.equal(made.code, 0, made.errors);
  const snapshot = JSON.parse(await readFile(out, 'utf8'));
  assert.deepEqual(
    snapshot.servers.map(({ id }: { id: string }) => id),
    [server.serverId],
  );
});

test('--record of a kubeconfig finds the servers, and needs no certificate beside it', async (context) => {
  const cluster = await syncCluster(context);
  const server = await cluster.startServer({ version: '1.36', name: 'server' });
  const folder = join(cluster.directory, 'recording');
  const { code, errors } = await runCommand(new Map(), [
    ...[
      'sync',
      '--kubeconfig',
      await cluster.kubeconfig(server),
      '--allow-loopback-peers',
      '--record',
      folder,
    ],
  ]);
  assert.equal(code, 0, errors);
  assert.match(errors, /^wrote \d+ files to /m);
  const out = join(cluster.directory, 'snapshot.json');
  const made = await runCommand(new Map(), ['sync', '--from', folder, '--out', out, '--unsigned']);
  assert.equal(made.code, 0, made.errors);
  const snapshot = JSON.parse(await readFile(out, 'utf8'));
  assert.deepEqual(
    snapshot.servers.map(({ id }: { id: string }) => id),
    [server.serverId],
  );
});

test('--record reads and does nothing else', async () => {
  const { code, errors } = await runCommand(new Map(), [
    ...['sync', '--record', 'folder', '--server', 'a=https://10.0.0.1:6443'],
    ...['--target', 'https://10.0.0.1:7443', '--out', 'file', '--unsigned'],
  ]);
  assert.equal(code, 2);
  for (const flag of ['--target', '--out']) {
    assert.match(errors, new RegExp(`${flag} has no use with --record`));
  }
});

test('a recording with a server that cannot be read ends with 1 and the reason, the others in the snapshot', async (context) => {
  const cluster = await syncCluster(context);
  const folder = join(cluster.directory, 'recording');
  await cp(join(fixtures, 'kubernetes-1.25-1.26'), folder, { recursive: true });
  await rm(join(folder, 'b', 'apis.json'));
  const out = join(cluster.directory, 'snapshot.json');
  const { code, errors } = await runCommand(new Map(), [
    ...['sync', '--from', folder, '--out', out, '--unsigned'],
  ]);
  assert.equal(code, 1);
  assert.match(errors, /^error: server b could not be read: .*apis\.json does not exist$/m);
  const snapshot = JSON.parse(await readFile(out, 'utf8'));
  assert.deepEqual(
    snapshot.servers.map(({ id }: { id: string }) => id),
    ['a'],
  );
});
