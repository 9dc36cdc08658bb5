import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createSecureServer } from 'node:http2';
import { describe, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { drained } from '../../../test/support/drained.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { askHttp1, readToEnd } from '../../../test/support/node-clients.ts';
import { destinationAt, peerPair } from '../../../test/support/node-exchange.ts';
import { startRouter } from '../../../test/support/node-router.ts';
import {
  connect,
  echo,
  startDestination,
  switching,
  upgradeRequest,
} from '../../../test/support/node-upgrade.ts';
import { readUntil } from '../../../test/support/tls-client.ts';

for (const [token, method] of [
  ['SPDY/3.1', 'POST'],
  ['websocket', 'GET'],
] as const) {
  describe(`an upgrade to ${token}`, () => {
    test('carries bytes both ways, untouched', async (context) => {
      const destination = await startDestination(context, switching(token), echo);
      const router = await startRouter(context, { destination: destination.destination });
      const client = await connect(context, router, upgradeRequest(token, '', method));
      const head = await readUntil(client, '\r\n\r\n');
      assert.equal(head, switching(token));
      const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => index % 256));
      client.write(bytes);
      let back = Buffer.alloc(0);
      while (back.length < bytes.length) {
        const [chunk] = (await once(client, 'data')) as [Buffer];
        back = Buffer.concat([back, chunk]);
      }
      assert.deepEqual(back, bytes);
    });

    test('reaches the destination with its own hop’s lines and the stamped identity, over HTTP/1.1', async (context) => {
      const destination = await startDestination(context, switching(token));
      const router = await startRouter(context, {
        destination: destination.destination,
        stamped: ['X-Remote-Group', 'a, b', 'X-Remote-Group', 'c'],
      });
      const lines =
        'Sec-WebSocket-Protocol: v5.channel.k8s.io\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n' +
        'X-Remote-User: mallory\r\nConnection: X-Remote-Group\r\n';
      const client = await connect(context, router, upgradeRequest(token, lines, method));
      await readUntil(client, '\r\n\r\n');
      const [start, ...head] = destination.head().trimEnd().split('\r\n');
      assert.equal(start, `${method} /api/v1/namespaces/a/pods/b/exec?command=sh&command=-c HTTP/1.1`);
      assert.deepEqual(
        head.filter((line) => !line.startsWith('Content-Length')),
        [
          `Host: 127.0.0.1:${destination.port}`,
          'Sec-WebSocket-Protocol: v5.channel.k8s.io',
          'X-Stream-Protocol-Version: v4.channel.k8s.io',
          'X-Remote-Group: a, b',
          'X-Remote-Group: c',
          'Connection: Upgrade',
          `Upgrade: ${token}`,
        ],
      );
      assert.equal(head.includes('Content-Length: 0'), method === 'POST');
    });

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
        upgradeHeadTimeout: 100,
      });
      context.mock.timers.enable({ apis: ['setTimeout'] });
      const client = await connect(context, router, upgradeRequest(token, '', method));
      await readUntil(client, '\r\n\r\n');
      context.mock.timers.tick(10_000);
      client.write('still there');
      assert.equal(await readUntil(client, 'still there'), 'still there');
    });
  });
}

test('the end of the client ends the destination’s connection, with all that was sent before', async (context) => {
  const destination = await startDestination(context, switching('SPDY/3.1'));
  const router = await startRouter(context, { destination: destination.destination });
  const client = await connect(context, router, upgradeRequest('SPDY/3.1'));
  await readUntil(client, '\r\n\r\n');
  client.end('last words');
  await destination.closed;
  assert.equal(destination.arrived(), 'last words');
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

test('closing the server ends its tunnels', async (context) => {
  const destination = await startDestination(context, switching('SPDY/3.1'));
  const router = await startRouter(context, { destination: destination.destination });
  const client = await connect(context, router, upgradeRequest('SPDY/3.1'));
  await readUntil(client, '\r\n\r\n');
  await router.server.close(50);
  await destination.closed;
  await readToEnd(client);
});
