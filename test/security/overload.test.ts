import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { firstHeader } from '../../src/apimachinery/raw-headers.ts';
import { createRouterServer } from '../../src/node/serving/server.ts';
import { get, serverOf } from '../support/api-servers/responses-by-hand.ts';
import { ask } from '../support/clients/ask.ts';
import { rawClient, readToEnd } from '../support/clients/node-clients.ts';
import { type RawHttp1, rawHttp1, sendAndReadToEnd } from '../support/clients/raw-http1.ts';
import { frameType, rawHttp2 } from '../support/clients/raw-http2.ts';
import { readUntil } from '../support/clients/tls-client.ts';
import { eventually } from '../support/eventually.ts';
import { type RouterUnderTest, startRouterUnderTest, targets } from '../support/routers/router-under-test.ts';
import { servingPair } from '../support/security/certificates.ts';
import { keptLog } from '../support/security/kept-log.ts';

const request = (method: string, target: string, lines = ''): string =>
  `${method} ${target} HTTP/1.1\r\nHost: localhost\r\n${lines}\r\n`;
const upgradeLines = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';
const exec = '/api/v1/namespaces/default/pods/a/exec?command=sh';

/** So many requests that nobody answers. */
async function occupy(
  context: TestContext,
  router: RouterUnderTest,
  bytes: string,
  count: number,
): Promise<RawHttp1[]> {
  router.peer.answer = () => {};
  const before = router.allRequests().length;
  const clients: RawHttp1[] = [];
  for (let index = 0; index < count; index++) {
    const client = await rawHttp1(context, router.port);
    client.write(bytes);
    clients.push(client);
  }
  await eventually(() => router.allRequests().length === before + count);
  return clients;
}

describe('S11: requests in flight are limited', () => {
  for (const protocol of ['http/1.1', 'h2'] as const) {
    test(`over ${protocol} one too many is a 429 with Retry-After, and reaches no server`, async (context) => {
      const router = await startRouterUnderTest(context, { flags: { 'max-requests-inflight': ['2'] } });
      const [first] = await occupy(context, router, request('GET', targets.peer), 2);

      const refused = await ask(router.port, { protocol, path: targets.local });
      assert.equal(refused.status, 429);
      assert.equal(firstHeader(refused.headers, 'retry-after'), '1');
      assert.equal(JSON.parse(refused.body).reason, 'TooManyRequests');
      assert.equal(router.local.requests.length, 0);

      // Writes count apart, and who mends things gets in.
      assert.equal((await ask(router.port, { protocol, method: 'POST', path: targets.local })).status, 200);
      assert.equal((await ask(router.port, { protocol, client: 'admin', path: targets.local })).status, 200);
      // Health and the router's own paths are no part of it.
      assert.equal((await ask(router.port, { protocol, path: '/readyz' })).status, 200);
      const own = await ask(router.port, {
        protocol,
        client: 'admin',
        path: '/.mixed-version-proxy/v1/status',
      });
      assert.equal(own.status, 200);

      first?.socket.destroy();
      await eventually(() => router.peer.requests.some(({ aborted }) => aborted));
      assert.equal((await ask(router.port, { protocol, path: targets.local })).status, 200);
    });
  }

  test('watches and tunnels are limited together, apart from the rest', async (context) => {
    const router = await startRouterUnderTest(context, {
      flags: { 'max-long-running-requests': ['2'], 'max-requests-inflight': ['1'] },
    });
    const [watch] = await occupy(context, router, request('GET', `${targets.peer}?watch=true`), 1);
    const [tunnel] = await occupy(context, router, request('GET', exec, upgradeLines), 1);
    await tunnel?.until((received) => received.includes('101 Switching'));

    const bytes = request('GET', exec, upgradeLines);
    const { received, statuses } = await sendAndReadToEnd(context, router.port, bytes);
    assert.deepEqual(statuses, [429]);
    assert.match(received, /\r\nretry-after: 1\r\n/i);
    assert.equal((await ask(router.port, { path: `${targets.peer}?watch=true` })).status, 429);
    assert.equal((await ask(router.port, { path: targets.local })).status, 200);

    for (const client of [watch, tunnel]) {
      client?.socket.destroy();
      await eventually(() => client?.ended === true);
    }
    let status = 429;
    router.peer.answer = (outgoing) => outgoing.end('{}');
    while (status === 429) status = (await ask(router.port, { path: `${targets.peer}?watch=true` })).status;
    assert.equal(status, 200);
  });

  test('nothing is counted for ever: after a storm of requests that are given up there is room for all', async (context) => {
    const router = await startRouterUnderTest(context, {
      flags: { 'max-requests-inflight': ['6'], 'max-mutating-requests-inflight': ['6'] },
    });
    for (let round = 0; round < 6; round++) {
      const method = round % 2 === 0 ? 'GET' : 'POST';
      for (const client of await occupy(context, router, request(method, targets.peer), 5)) {
        client.socket.destroy();
      }
      await eventually(() => router.peer.requests.every(({ aborted }) => aborted));
    }
    await occupy(context, router, request('GET', targets.peer), 5);
    await occupy(context, router, request('POST', targets.peer), 5);
  });
});

test('S11: where every connection has a request, one beyond the limit is closed, but for health checks', async (context) => {
  const logLines: string[] = [];
  const { port, handled } = await serverOf(context, {
    limits: { maxConnections: 2 },
    logger: keptLog(logLines),
  });
  const kept = [await rawClient(context, port), await rawClient(context, port)];
  for (const client of kept) client.write(get('/held'));
  await eventually(() => handled.length === 2);
  const probe = await rawClient(context, port);
  probe.write(get('/readyz'));
  await eventually(() => handled.length === 3);
  handled[2]?.respond(new Response('ok'));
  assert.match(await readToEnd(probe), /^HTTP\/1\.1 200 /);
  const surplus = await rawClient(context, port);
  surplus.write(get('/api/v1/pods'));
  assert.match(await readToEnd(surplus), /^HTTP\/1\.1 429 /);
  assert.equal(handled.length, 3);
  await eventually(() => logLines.some((line) => line.includes('Connections are refused')));
  for (const { respond } of handled.slice(0, 2)) respond(new Response('late'));
  for (const client of kept) await readUntil(client, 'late');
});

test('S11: health checks beyond the limit get their answers over HTTP/2 as well, as a kubelet asks', async (context) => {
  const { port, handled } = await serverOf(context, {
    limits: { maxConnections: 1 },
    tls: { cert: servingPair.chain, key: servingPair.privateKey },
  });
  const kept = await rawHttp1(context, port);
  kept.write(get('/held'));
  await eventually(() => handled.length === 1);
  const lines = (path: string) => [':method', 'GET', ':scheme', 'https', ':authority', 'a', ':path', path];
  const probe = await rawHttp2(context, port);
  probe.request(1, lines('/readyz'));
  await eventually(() => handled.length === 2);
  handled[1]?.respond(new Response('ok'));
  // None keeps the room that is meant for the next probe.
  await eventually(() => probe.ended);
  assert.equal((await probe.outcome(1)).body, 'ok');
  const surplus = await rawHttp2(context, port);
  surplus.request(1, lines('/api/v1/pods'));
  await eventually(() => surplus.ended);
  assert.equal((await surplus.outcome(1)).status, 429);
  assert.equal(handled.length, 2);
  handled[0]?.respond(new Response('late'));
  await kept.until((received) => received.includes('late'));
});

test('attack: who takes every connection that is kept back for health checks does not keep another’s out', async (context) => {
  const { port, handled } = await serverOf(context, { limits: { maxConnections: 1 } });
  const kept = await rawClient(context, port);
  kept.write(get('/held'));
  await eventually(() => handled.length === 1);
  const silent = Array.from({ length: 16 }, () =>
    connectTcp({ port, host: '127.0.0.1', localAddress: '127.0.0.2' }).on('error', () => {}),
  );
  context.after(() => {
    for (const socket of silent) socket.destroy();
  });
  await Promise.all(silent.map((socket) => once(socket, 'connect')));
  const probe = await rawClient(context, port);
  probe.write(get('/livez'));
  await eventually(() => handled.length === 2);
  handled[1]?.respond(new Response('ok'));
  assert.match(await readToEnd(probe), /^HTTP\/1\.1 200 /);
});

test('attack: connections without a request make room, the one that has rested longest first', async (context) => {
  const { port, handled } = await serverOf(context, { limits: { maxConnections: 3 } });
  const resting = [];
  for (let count = 0; count < 3; count++) {
    const client = await rawClient(context, port);
    client.on('error', () => {});
    client.write(get(`/${count}`));
    await eventually(() => handled.length === count + 1);
    handled[count]?.respond(new Response('fine'));
    await readUntil(client, 'fine');
    client.resume();
    resting.push(client);
  }
  const [oldest, ...others] = resting;
  const next = await rawClient(context, port);
  next.write(get('/next'));
  await eventually(() => handled.length === 4);
  await eventually(() => oldest?.destroyed === true);
  assert.ok(others.every(({ destroyed }) => !destroyed));
});

test('a connection whose upload is still read after an early response makes no room: the response would be lost', async (context) => {
  const { port, handled } = await serverOf(context, { limits: { maxConnections: 1 } });
  const uploading = await rawClient(context, port);
  uploading.write('POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf');
  await eventually(() => handled.length === 1);
  handled[0]?.respond(new Response('enough', { status: 413 }));
  await readUntil(uploading, 'enough');
  const next = await rawClient(context, port);
  next.write(get('/api/v1/pods'));
  assert.match(await readToEnd(next), /^HTTP\/1\.1 429 /);
  assert.equal(uploading.destroyed, false);
});

test('connections that are no tunnels have a limit of their own, and leave room for tunnels', async (context) => {
  let ended = 0;
  const { port, handled } = await serverOf(context, {
    limits: { maxConnections: 3, maxOrdinaryConnections: 1 },
    onUpgrade(_incoming, socket) {
      socket.once('close', () => ended++);
      socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n');
    },
  });
  const isTaken = async () => {
    const client = await rawClient(context, port).catch(() => undefined);
    if (client === undefined) return false;
    const before = handled.length;
    let isRefused = false;
    client.once('close', () => {
      isRefused = true;
    });
    client.resume().write(get('/taken'));
    await eventually(() => handled.length > before || isRefused);
    return handled.length > before;
  };
  const tunnels: TLSSocket[] = [];
  for (let count = 0; count < 2; count++) {
    const tunnel = await rawClient(context, port);
    tunnel.write(get('/exec', 'Connection: Upgrade', 'Upgrade: websocket'));
    await readUntil(tunnel, '101');
    tunnels.push(tunnel);
  }
  assert.equal(await isTaken(), true);
  assert.equal(await isTaken(), false, 'three in all');
  tunnels[0]?.destroy();
  await eventually(() => ended === 1);
  assert.equal(await isTaken(), false, 'one that is no tunnel');
});

test('attack: upgrades whose bodies never come leave nothing behind, and raise no limit', async (context) => {
  const { port, handled } = await serverOf(context, {
    limits: { maxConnections: 10, maxOrdinaryConnections: 1 },
    onUpgrade: (_incoming, socket) =>
      void socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n'),
  });
  const upgrade = get('/exec', 'Connection: Upgrade', 'Upgrade: websocket', 'Content-Length: 1');
  for (let count = 0; count < 3; count++) {
    const client = await rawClient(context, port);
    client.write(upgrade);
    assert.match(await readToEnd(client), /^HTTP\/1\.1 400 /);
  }
  const first = await rawClient(context, port);
  first.write(get('/first'));
  await eventually(() => handled.length === 1);
  // On a connection beyond the limit only health checks are answered.
  const second = await rawClient(context, port).catch(() => undefined);
  second?.write(get('/second'));
  if (second !== undefined) assert.match(await readToEnd(second), /^HTTP\/1\.1 429 /);
  assert.equal(handled.length, 1);
});

test('S11: a TLS handshake that does not come to its end is given up', async (context) => {
  const router = await startRouterUnderTest(context, {
    configure: (config) => ({ ...config, timeouts: { ...config.timeouts, tlsHandshake: 100 } }),
    snapshot: () => undefined,
  });
  const silent = connectTcp(router.port, '127.0.0.1').on('error', () => {});
  const half = connectTcp(router.port, '127.0.0.1').on('error', () => {});
  await once(half, 'connect');
  // A record that says it is 512 bytes long.
  half.write(Buffer.from([22, 3, 1, 2, 0, 1, 0]));
  await Promise.all([once(silent, 'close'), once(half, 'close')]);
});

test('where nobody else could be asked, waiting for a response goes on until --request-timeout', async (context) => {
  const router = await startRouterUnderTest(context, { flags: { 'request-timeout': ['1s'] } });
  router.peer.answer = () => {};
  const { status, body } = await ask(router.port, { path: targets.peer });
  assert.equal(status, 503);
  assert.equal(JSON.parse(body).details.causes[0].reason, 'Timeout');
});

test('--goaway-chance: so many HTTP/2 requests are answered and their client sent elsewhere', async (context) => {
  const draws = [0.5, 0.02, 0.019, 0.001];
  context.mock.method(Math, 'random', () => draws.shift() ?? 0);
  const server = createRouterServer({
    fetch: () => new Response('answered'),
    tls: { cert: servingPair.chain, key: servingPair.privateKey },
    clientCertificateOf: () => ({}),
    goawayChance: 0.02,
  });
  const { port } = await server.listen(0, '127.0.0.1');
  context.after(() => server.close(0));
  const raw = await rawHttp2(context, port);
  const lines = [':method', 'GET', ':scheme', 'https', ':authority', 'localhost', ':path', '/'];
  for (const stream of [1, 3]) {
    raw.request(stream, lines);
    assert.equal((await raw.outcome(stream)).body, 'answered');
    assert.equal(raw.isOver, false);
  }
  raw.request(5, lines);
  await eventually(() => raw.ended);
  const goAway = raw.frames.find(({ type }) => type === frameType.goAway);
  // The frame names the request as one that is carried out, and no error.
  assert.equal(goAway?.payload.toString('hex').slice(0, 16), '0000000500000000');
  assert.equal((await raw.outcome(5)).body, 'answered');
  // HTTP/1.1 has no such thing: no draw.
  assert.equal((await ask(port)).body, 'answered');
  assert.deepEqual(draws, [0.001]);
});
