import assert from 'node:assert/strict';
import { test } from 'node:test';
import { localId, mixedCluster } from '../../test/support/clusters/decision-rows.ts';
import { settle } from '../../test/support/manual-clock.ts';
import { recordingTransport } from '../../test/support/routers/recording-transport.ts';
import { testApp, userConnection } from '../../test/support/routers/test-app.ts';
import { snapshotOf } from '../../test/support/snapshots/snapshot-builder.ts';
import { allHeaders } from '../apimachinery/raw-headers.ts';
import { TransportError, type TransportErrorCode } from '../request/destination.ts';
import { ServerBook } from '../servers/server-book.ts';
import { isVerified } from '../servers/server-standing.ts';

const jobs = 'https://router.example/apis/batch/v1/namespaces/default/jobs';

/** The first destination fails; the second one responds. */
async function withFailingFirst(code: TransportErrorCode, mayHaveBeenProcessed: boolean) {
  let failed = false;
  const transport = recordingTransport(({ destination }) => {
    if (failed) return Response.json({ answeredBy: destination.id });
    failed = true;
    throw new TransportError(code, `connect ECONNREFUSED ${destination.origin}`, { mayHaveBeenProcessed });
  });
  return testApp({ snapshot: mixedCluster, transport, connection: userConnection('alice', ['dev']) });
}

test('a peer that cannot be reached is replaced by another one, for writes too', async () => {
  const { app, transport } = await withFailingFirst('ConnectFailed', false);
  const response = await app.request(jobs, { method: 'POST', body: '{}' });
  assert.equal(response.status, 200);
  assert.equal(new Set(transport.sent.map(({ destination }) => destination.id)).size, 2);
});

test('a write that may have arrived gets 503 and not sent again', async () => {
  const { app, transport } = await withFailingFirst('ConnectionClosed', true);
  const response = await app.request(jobs, { method: 'POST', body: '{}' });
  assert.equal(response.status, 503);
  assert.equal(transport.sent.length, 1);
  const status = (await response.json()) as { message: string };
  assert.match(status.message, /may have been carried out/);
  // client-go would send it again for one (k8s.io/client-go rest/with_retry.go).
  assert.equal(response.headers.get('retry-after'), null);
});

test('a read that broke off before its response is asked of another peer', async () => {
  const { app, transport } = await withFailingFirst('ConnectionClosed', true);
  assert.equal((await app.request(jobs)).status, 200);
  assert.equal(transport.sent.length, 2);
});

test('a head that is too large for a peer gets 431, without a second try', async () => {
  const { app, transport } = await withFailingFirst('RequestHeaderFieldsTooLarge', false);
  const response = await app.request(jobs);
  assert.equal(response.status, 431);
  assert.equal(response.headers.get('retry-after'), null);
  const { kind, reason } = (await response.json()) as { kind: string; reason: string };
  assert.deepEqual([kind, reason], ['Status', 'RequestHeaderFieldsTooLarge']);
  assert.equal(transport.sent.length, 1);
});

test('a head that is too large for a peer does not have that peer avoided', async () => {
  const transport = recordingTransport(({ destination, target }) => {
    if (!target.endsWith('large')) return Response.json({ answeredBy: destination.id });
    throw new TransportError('RequestHeaderFieldsTooLarge', 'too large', { mayHaveBeenProcessed: false });
  });
  const { app } = await testApp({ snapshot: mixedCluster, transport });
  const asked = new Set<string>();
  for (let time = 0; time < 40; time++) {
    await app.request(`${jobs}?large`);
    const sent = transport.sent.at(-1);
    if (sent !== undefined) asked.add(sent.destination.id);
  }
  transport.sent.length = 0;
  for (let time = 0; time < 40; time++) await app.request(jobs);
  assert.deepEqual(new Set(transport.sent.map(({ destination }) => destination.id)), asked);
  assert.equal(asked.size, 2);
});

test('the second try carries the same identity, mark and target as the first', async () => {
  const { app, transport } = await withFailingFirst('ConnectFailed', false);
  await app.request(`${jobs}?limit=500`);
  const [first, second] = transport.sent;
  const [auditId = ''] = allHeaders(second?.headers ?? [], 'audit-id');
  assert.match(auditId, /^[0-9a-f-]{36}$/, 'named in the line that tells of the first try');
  assert.deepEqual(
    second?.headers.filter((text) => text !== 'Audit-ID' && text !== auditId),
    first?.headers,
  );
  assert.equal(second?.target, '/apis/batch/v1/namespaces/default/jobs?limit=500');
  assert.deepEqual(allHeaders(second?.headers ?? [], 'x-remote-user'), ['alice']);
  assert.deepEqual(allHeaders(second?.headers ?? [], 'x-kubernetes-peer-proxied'), ['true']);
  assert.equal(second?.presentFrontProxyCertificate, true);
});

test('a 503 made here names no address and says when to ask again', async () => {
  const transport = recordingTransport(({ destination }) => {
    throw new TransportError('ConnectFailed', `connect ECONNREFUSED ${destination.origin}`, {
      mayHaveBeenProcessed: false,
    });
  });
  const { app } = await testApp({ snapshot: mixedCluster, transport });
  const response = await app.request(jobs);
  const body = await response.text();
  assert.equal(response.status, 503);
  assert.equal(response.headers.get('retry-after'), '1');
  assert.doesNotMatch(body, /10\.0\.0\.|6443|ECONNREFUSED/);
  assert.equal(transport.sent.length, 2, 'at most one second try');
});

test('a peer that answered badly is not asked again: its response passes through', async () => {
  const transport = recordingTransport(() =>
    Response.json({ reason: 'TooManyRequests' }, { status: 429, headers: { 'retry-after': '7' } }),
  );
  const { app } = await testApp({ snapshot: mixedCluster, transport });
  const response = await app.request(jobs);
  assert.equal(response.status, 429);
  assert.equal(response.headers.get('retry-after'), '7');
  assert.equal(transport.sent.length, 1);
});

test('a peer that could not be reached is avoided by the requests that follow', async () => {
  let down: string | undefined;
  const transport = recordingTransport(({ destination }) => {
    down ??= destination.id;
    if (destination.id !== down) return Response.json({});
    throw new TransportError('ConnectFailed', 'connection refused', { mayHaveBeenProcessed: false });
  });
  const { app } = await testApp({ snapshot: mixedCluster, transport });
  for (let request = 0; request < 20; request++) assert.equal((await app.request(jobs)).status, 200);
  assert.equal(transport.sent.filter(({ destination }) => destination.id === down).length, 1);
});

test('a caller who was not authenticated here travels without the front-proxy certificate and as he came', async () => {
  const { app, transport } = await testApp({ snapshot: mixedCluster });
  await app.request(jobs, {
    headers: { authorization: 'Bearer opaque', 'x-remote-user': 'admin', 'x-remote-group': 'system:masters' },
  });
  const [outbound] = transport.sent;
  assert.equal(outbound?.presentFrontProxyCertificate, false);
  assert.deepEqual(allHeaders(outbound?.headers ?? [], 'authorization'), ['Bearer opaque']);
  assert.deepEqual(allHeaders(outbound?.headers ?? [], 'x-remote-user'), []);
  assert.deepEqual(allHeaders(outbound?.headers ?? [], 'x-remote-group'), []);
});

test('a 404 is not believed while a server says that it is not ready, for a minute', async () => {
  let now = 0;
  const snapshot = snapshotOf({ [localId]: ['v1/pods'], b: ['v1/pods'], c: ['v1/pods'] });
  const health = new ServerBook({ rise: 1, fall: 1, monotonic: () => now });
  for (const id of [localId, 'b', 'c']) {
    health.follow(id);
    health.probing(id);
    health.probed(id, 'ready');
  }
  // A busy router's probes may miss that a server was away. Not ready, the server ends, or has been started again.
  health.probing('b');
  health.probed('b', 'not-ready');
  assert.equal(health.is('b', isVerified), false);
  const transport = recordingTransport(
    () =>
      new Response('404 page not found\n', {
        status: 404,
        headers: { 'content-type': 'text/plain; charset=utf-8', 'content-length': '19' },
      }),
  );
  const { app } = await testApp({ snapshot, transport, health });
  const things = () => app.request('https://router.example/apis/new.example.com/v1/things');
  const early = await things();
  assert.equal(early.status, 503);
  assert.equal(early.headers.get('retry-after'), '1');
  now = 60_000;
  assert.equal((await things()).status, 404);
});

test('a 404 is not believed before it is known what a server that was lost a moment ago has come back with', async () => {
  const snapshot = snapshotOf({ [localId]: ['v1/pods'], b: ['v1/pods'], c: ['v1/pods'] });
  const things = 'https://router.example/apis/new.example.com/v1/things';
  for (const [outcome, status, asked] of [
    ['changed', 503, 2],
    ['not-ready', 503, 2],
    ['ready', 200, 3],
    ['unreachable', 503, 2],
  ] as const) {
    const health = new ServerBook({ rise: 1, fall: 1 });
    for (const id of [localId, 'b', 'c']) {
      health.follow(id);
      health.probing(id);
      health.probed(id, 'ready');
    }
    const transport = recordingTransport(({ destination: { id } }) =>
      id === 'b'
        ? Response.json({})
        : new Response('404 page not found\n', {
            status: 404,
            headers: { 'content-type': 'text/plain; charset=utf-8', 'content-length': '19' },
          }),
    );
    const { app } = await testApp({ snapshot, transport, health });
    health.connectionLost('b');
    const asking = app.request(things);
    await settle();
    assert.equal(transport.sent.length, 1, 'nobody else is asked before that');
    health.probing('b');
    health.probed('b', outcome);
    const response = await asking;
    assert.equal(response.status, status, outcome);
    assert.equal(response.headers.get('retry-after'), status === 503 ? '1' : null);
    assert.ok(transport.sent.length <= asked);
  }
});
