import assert from 'node:assert/strict';
import { test } from 'node:test';
import { localId, mixedCluster } from '../test/support/clusters/decision-rows.ts';
import { recordingTransport } from '../test/support/routers/recording-transport.ts';
import { seal, testApp, userConnection } from '../test/support/routers/test-app.ts';
import { snapshotOf } from '../test/support/snapshots/snapshot-builder.ts';
import { ServerBook } from './servers/server-book.ts';

const snapshotUrl = 'https://router.example/.mixed-version-proxy/v1/snapshot';
const admin = userConnection('kubernetes-admin', ['system:masters']);

interface FailureStatus {
  readonly kind: string;
  readonly reason: string;
  readonly message: string;
  readonly details?: { readonly causes?: readonly { reason: string; message: string; field?: string }[] };
}

const push = async (app: Awaited<ReturnType<typeof testApp>>['app'], body: string) => {
  const response = await app.request(snapshotUrl, { method: 'PUT', body });
  return { code: response.status, body: (await response.json()) as FailureStatus & Record<string, unknown> };
};

test('a body that begins as no signed snapshot does is refused by its beginning', async () => {
  const { app } = await testApp({ connection: admin });
  const chunk = new Uint8Array(1024 * 1024).fill(0x61);
  let pulled = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      pulled += 1;
      if (pulled > 1000) controller.close();
      else controller.enqueue(chunk);
    },
  });
  const response = await app.request(
    new Request(snapshotUrl, { method: 'PUT', body, duplex: 'half' } as RequestInit),
  );
  assert.equal(response.status, 401);
  assert.ok(pulled < 5, `${pulled} MiB were read`);
});

test('the snapshot in use can be read back, opened or sealed', async () => {
  const { app } = await testApp({ connection: admin, snapshot: mixedCluster });
  assert.deepEqual(await (await app.request(snapshotUrl)).json(), JSON.parse(JSON.stringify(mixedCluster)));
  const sealed = await app.request(snapshotUrl, { headers: { accept: 'application/jose' } });
  assert.match(await sealed.text(), /^[\w-]+\.[\w-]+\.[\w-]+(?:\n|$)/);
});

test('explain sees what requests see of a local server that was lost, before it counts as unhealthy', async () => {
  const health = new ServerBook({ rise: 1, fall: 3 });
  health.follow(localId);
  health.probing(localId);
  health.probed(localId, 'ready');
  const transport = recordingTransport();
  const { app } = await testApp({ connection: admin, snapshot: mixedCluster, health, transport });
  const path = '/api/v1/namespaces/default/pods';
  const explain = async () => {
    const url = `https://router.example/.mixed-version-proxy/v1/explain?url=${encodeURIComponent(path)}`;
    return (await (await app.request(url)).json()) as { decision: string; reason: string };
  };
  assert.equal((await explain()).reason, 'ServedLocally');
  health.connectionLost(localId);
  assert.deepEqual([health.isUp(localId), health.mayBeAsked(localId)], [true, 'last']);
  const { decision, reason } = await explain();
  assert.deepEqual([decision, reason], ['peer', 'LocalServerDown']);
  await app.request(`https://router.example${path}`);
  assert.equal(transport.sent.at(-1)?.destination.kind, 'peer');
});

test('explain is a text for people who ask for one', async () => {
  const { app } = await testApp({ connection: admin, snapshot: mixedCluster });
  const ask = (url: string, accept: string) =>
    app.request(`https://router.example/.mixed-version-proxy/v1/explain?${new URLSearchParams({ url })}`, {
      headers: { accept },
    });
  const text = await ask('/api/v1/pods?x=\u001b', 'text/plain');
  assert.equal(text.headers.get('content-type'), 'text/plain; charset=utf-8');
  assert.equal(text.headers.get('x-content-type-options'), 'nosniff');
  assert.match(
    await text.text(),
    new RegExp(`^Request: +GET /api/v1/pods\\?x=\\?$[^]*^Seen from: +${localId}$`, 'm'),
  );
  const json = await ask('/readyz', '*/*');
  assert.match(((await json.json()) as { notes: string[] }).notes.join(), /the router serves \/readyz/);
});

test('status shows the certificates that the runtime knows of, and what is wrong with them', async () => {
  const certificate = {
    name: 'tls-cert-file',
    path: '/etc/tls.crt',
    subject: 'CN=router',
    notBefore: '2029-01-01T00:00:00.000Z',
    notAfter: '2030-01-01T00:00:00.000Z',
    daysLeft: 9,
    lastReload: null,
    lastError: 'no PEM certificate',
  };
  const credentialFiles = { certificates: () => [certificate], keyFiles: () => [] };
  const { app } = await testApp({ connection: admin, snapshot: mixedCluster, credentialFiles });
  const response = await app.request('https://router.example/.mixed-version-proxy/v1/status');
  const status = (await response.json()) as {
    certificates: unknown;
    keyFiles: unknown;
    warnings: { message: string; see: string | null }[];
  };
  assert.deepEqual(status.certificates, [certificate]);
  assert.deepEqual(status.keyFiles, []);
  assert.match(
    status.warnings.map(({ message }) => message).join(),
    /--tls-cert-file: .* no PEM certificate/,
  );
  assert.equal((await app.request('https://router.example/readyz')).status, 200, 'a warning, not a failure');
});

test('status says that the last push was refused and why, until one is taken', async () => {
  const { app } = await testApp({ connection: admin });
  const warnings = async () => {
    const response = await app.request('https://router.example/.mixed-version-proxy/v1/status');
    return ((await response.json()) as { warnings: { message: string }[] }).warnings
      .map(({ message }) => message)
      .join();
  };
  assert.equal((await push(app, 'no snapshot')).code, 401);
  assert.match(await warnings(), /last push of a snapshot was refused \(.*Z, Unsigned\): /);
  assert.equal((await push(app, await seal(mixedCluster))).code, 200);
  assert.doesNotMatch(await warnings(), /last push/);
});

test('a --server-id that the snapshot does not have is a warning of status and of /readyz', async () => {
  const { app } = await testApp({ connection: admin, snapshot: snapshotOf({ 'cp-a': [], 'cp-b': [] }) });
  const response = await app.request('https://router.example/.mixed-version-proxy/v1/status');
  const { warnings } = (await response.json()) as { warnings: { message: string; see: string | null }[] };
  const message = `the snapshot has no server ${localId}: compare --server-id with those that it has ("cp-a", "cp-b")`;
  assert.deepEqual(warnings, [{ message, see: null }]);
  const ready = await app.request('https://router.example/readyz?verbose');
  assert.equal(ready.status, 200, 'a warning, not a failure');
  assert.match(
    await ready.text(),
    /^warn: snapshot: the snapshot has no server with the ID of the local one: /m,
  );
});

test('status shows the snapshot and the servers', async () => {
  const { app } = await testApp({ connection: admin, snapshot: mixedCluster });
  const response = await app.request('https://router.example/.mixed-version-proxy/v1/status');
  const status = (await response.json()) as { snapshot: { generation: number }; servers: { id: string }[] };
  assert.equal(status.snapshot.generation, 1);
  assert.equal(status.servers.length, mixedCluster.servers.length);
});

test('with a slash behind it the path of a health check is one of the API server', async () => {
  const transport = recordingTransport();
  const { app } = await testApp({ connection: admin, snapshot: mixedCluster, transport });
  for (const path of ['/livez', '/livez/', '/readyz/?verbose'])
    await app.request(`https://router.example${path}`);
  assert.deepEqual(
    transport.sent.map(({ target }) => target),
    ['/livez/', '/readyz/?verbose'],
  );
});
