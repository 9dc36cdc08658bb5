import assert from 'node:assert/strict';
import { once } from 'node:events';
import { IncomingMessage } from 'node:http';
import { createSecureServer } from 'node:http2';
import { Socket } from 'node:net';
import { Duplex, PassThrough } from 'node:stream';
import { describe, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { destinationAt, peerPair } from '../../../test/support/api-servers/node-exchange.ts';
import { askHttp1, readToEnd } from '../../../test/support/clients/node-clients.ts';
import {
  connect,
  echo,
  startDestination,
  switching,
  upgradeRequest,
} from '../../../test/support/clients/node-upgrade.ts';
import { readUntil } from '../../../test/support/clients/tls-client.ts';
import { drained } from '../../../test/support/drained.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { startRouter } from '../../../test/support/routers/node-router.ts';
import { RequestRecord } from '../../request/inbound.ts';
import { Deadlines } from '../exchange/deadlines.ts';
import { OpenStreams } from '../exchange/open-streams.ts';
import { isForTunnel, tunnel, UpgradeInbound } from './upgrade.ts';

/** A side that takes no byte. */
function neverReads(): Duplex {
  return new Duplex({ read() {}, write() {} });
}

for (const gone of ['client', 'destination'] as const) {
  test(`the ${gone} has gone and the other side never reads: its connection ends, too`, async (context) => {
    context.mock.timers.enable({ apis: ['setTimeout'] });
    const sides = { client: neverReads(), destination: neverReads() };
    const other = gone === 'client' ? sides.destination : sides.client;
    const openStreams = new OpenStreams();
    tunnel(sides.client, sides.destination, openStreams);
    other.write('on its way');
    sides[gone].destroy();
    await once(sides[gone], 'close');
    assert.equal(other.destroyed, false);
    assert.equal(openStreams.size, 1);

    context.mock.timers.tick(10_000);
    assert.equal(other.destroyed, true);
    await once(other, 'close');
    assert.equal(openStreams.size, 0);
  });
}

test('a shutdown finds a tunnel whose client has gone and whose destination never reads', async () => {
  const [client, destination] = [neverReads(), neverReads()];
  const openStreams = new OpenStreams();
  tunnel(client, destination, openStreams);
  destination.write('on its way');
  client.destroy();
  await once(client, 'close');
  assert.equal(destination.destroyed, false);
  openStreams.cut();
  assert.equal(destination.destroyed, true);
  await once(destination, 'close');
  assert.equal(openStreams.size, 0);
});

test('an upgrade that times out before its response gets a 504, and its dial ends', async (context) => {
  const clock = { now: 0 };
  const deadlines = new Deadlines({ timeout: 1_000, clock: () => clock.now });
  context.after(() => deadlines.stop());
  const client = new PassThrough();
  const inbound = new UpgradeInbound(new IncomingMessage(new Socket()), client, {
    clientCertificateOf: () => ({}),
    deadlines,
  });
  const record = new RequestRecord(inbound, [], () => clock.now);
  inbound.record = record;
  inbound.limitDuration();
  clock.now = 10_000;
  deadlines.check();
  assert.equal(inbound.takeResponse(), false);
  assert.equal(inbound.signal.aborted, true);
  const text = Buffer.concat(await client.toArray()).toString();
  assert.match(text, /^HTTP\/1\.1 504 .*"reason":"Timeout"/s);
  assert.deepEqual([record.dropped, record.status], ['RequestTimeout', 504]);
});

test('an upgrade that is over, or switched, is no longer ended by its deadline', (context) => {
  const clock = { now: 0 };
  const onExpired = () => assert.fail('it was over');
  const deadlines = new Deadlines({ timeout: 1_000, clock: () => clock.now, onExpired });
  context.after(() => deadlines.stop());
  const client = new PassThrough();
  const options = { clientCertificateOf: () => ({}), deadlines };
  const inbound = new UpgradeInbound(new IncomingMessage(new Socket()), client, options);
  inbound.limitDuration();
  assert.equal(inbound.takeResponse(), true);
  inbound.liftDeadline();
  clock.now = 10_000;
  deadlines.check();
  assert.equal(client.destroyed, false);
});

const post = ['Host', 'x', 'Connection', 'Upgrade', 'Content-Length', '0'];

test('websocket and SPDY/3.1 are tunnelled, in any case', () => {
  for (const token of ['websocket', 'WebSocket', 'SPDY/3.1', 'spdy/3.1']) {
    assert.ok(isForTunnel({ httpVersion: '1.1', rawHeaders: [...post, 'Upgrade', token] }), token);
  }
});

test('h2c, lists, repeated lines, other versions and nothing at all are not', () => {
  for (const tokens of [
    ['h2c'],
    ['websocket, h2c'],
    ['h2c, websocket'],
    ['websocket', 'websocket'],
    ['websocket', 'SPDY/3.1'],
    ['SPDY/3'],
    ['websocket/13'],
    ['TLS/1.0'],
    [''],
    [],
  ]) {
    const rawHeaders = [...post, ...tokens.flatMap((token) => ['Upgrade', token])];
    assert.equal(isForTunnel({ httpVersion: '1.1', rawHeaders }), false, tokens.join(' | '));
  }
});

test('HTTP/1.0 has no upgrades', () => {
  assert.equal(isForTunnel({ httpVersion: '1.0', rawHeaders: ['Upgrade', 'websocket'] }), false);
});

for (const [token, method] of [
  ['SPDY/3.1', 'POST'],
  ['websocket', 'GET'],
] as const) {
  describe(`an upgrade to ${token}`, () => {
    test('keeps the first bytes of both sides, sent along with the heads', async (context) => {
      const destination = await startDestination(context, `${switching(token)}server first`);
      const router = await startRouter(context, { destination: destination.destination });
      const client = await connect(context, router, `${upgradeRequest(token, '', method)}client first`);
      assert.match(await readUntil(client, 'server first'), /\r\n\r\nserver first$/);
      await eventually(() => destination.arrived() === 'client first');
    });

    test('may be quiet for longer than the wait for its head', async (context) => {
      const destination = await startDestination(context, switching(token), echo);
      const router = await startRouter(context, {
        destination: destination.destination,
        upgradeHeadTimeout: 60_000,
      });
      context.mock.timers.enable({ apis: ['setTimeout'] });
      const client = await connect(context, router, upgradeRequest(token, '', method));
      await readUntil(client, '\r\n\r\n');
      context.mock.timers.tick(600_000);
      client.write('still there');
      assert.equal(await readUntil(client, 'still there'), 'still there');
    });
  });
}

test('an upgrade whose target is in absolute-form is one of its path, and the host is not asked', async (context) => {
  const destination = await startDestination(context, switching('SPDY/3.1'), echo);
  const router = await startRouter(context, { destination: destination.destination });
  const request = upgradeRequest('SPDY/3.1').replace(' /api', ' https://elsewhere.example:6443/api');
  const client = await connect(context, router, `${request}there`);
  assert.ok((await readUntil(client, 'there')).endsWith('there'));
  assert.match(destination.head(), /^POST \/api\/v1\/namespaces\/a\/pods\/b\/exec\?/);
  assert.doesNotMatch(destination.head(), /elsewhere/);
});

test('the end of the destination ends the client’s connection, with all that was sent before', async (context) => {
  const last = 'x'.repeat(500_000);
  const destination = await startDestination(context, switching('SPDY/3.1'), (socket) => socket.end(last));
  const router = await startRouter(context, { destination: destination.destination });
  const client = await connect(context, router, upgradeRequest('SPDY/3.1'));
  assert.ok((await readToEnd(client)).endsWith(last));
});

test('a slow side holds up the other: a tunnel has backpressure', async (context) => {
  let written = 0;
  const stalled = Promise.withResolvers<void>();
  const chunk = Buffer.alloc(64 * 1024);
  const destination = await startDestination(context, switching('SPDY/3.1'), async (socket) => {
    while (written < 64 * 1024 * 1024 && !socket.destroyed) {
      written += chunk.length;
      if (socket.write(chunk)) continue;
      await drained(socket, stalled.resolve);
    }
    stalled.resolve();
  });
  const router = await startRouter(context, { destination: destination.destination });
  const client = await connect(context, router, upgradeRequest('SPDY/3.1'));
  await once(client, 'readable');
  await stalled.promise;
  assert.ok(written < 24 * 1024 * 1024, `${written} bytes were taken from the destination`);
});

test('a destination that prefers HTTP/2 is asked for HTTP/1.1', async (context) => {
  const server = createSecureServer({ cert: peerPair.chain, key: peerPair.privateKey, allowHTTP1: true });
  server.on('upgrade', (_incoming, socket) => {
    socket.write(switching('SPDY/3.1'));
    echo(socket as TLSSocket);
  });
  server.on('request', (_incoming, outgoing) => void outgoing.end('over HTTP/2'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const router = await startRouter(context, {
    destination: destinationAt(`https://127.0.0.1:${address.port}`),
  });
  // An ordinary request first, so that there is an HTTP/2 connection that could be taken by mistake.
  assert.equal((await askHttp1(router.port)).body.toString(), 'over HTTP/2');
  const client = await connect(context, router, upgradeRequest('SPDY/3.1'));
  await readUntil(client, '\r\n\r\n');
  client.write('frames');
  assert.equal(await readUntil(client, 'frames'), 'frames');
  client.destroy();
});
