import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, type TestContext, test } from 'node:test';
import { type Peer, startPeer, startRawPeer } from '../../../test/support/api-servers/node-exchange.ts';
import { connect, startDestination, upgradeRequest } from '../../../test/support/clients/node-upgrade.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { startRouter } from '../../../test/support/routers/node-router.ts';
import { failureOf, get, newTransport, send } from '../../../test/support/routers/node-transport.ts';

const interim = 'HTTP/1.1 103 Early Hints\r\n\r\n';
const lines = (count: number): string => 'a: b\r\n'.repeat(count);
const withHead = (head: string): string => `HTTP/1.1 200 OK\r\n${head}Content-Length: 2\r\n\r\nok`;
const withTrailers = (trailers: string): string =>
  `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n${trailers}\r\n`;

/** A read that goes out over HTTP/1.1. */
function ask(context: TestContext, { destination }: Peer): Promise<Response> {
  return send(newTransport(context), destination);
}

/** Answers a request, large head and all, with `response`. */
function responding(context: TestContext, response: string): Promise<Peer> {
  return startRawPeer(context, (socket) => {
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      if (!received.endsWith('\r\n\r\n')) return;
      received = '';
      socket.write(response, 'latin1');
    });
  });
}

describe('a response over HTTP/1.1', () => {
  for (const [attack, response] of [
    ['200,000 lines', withHead(lines(200_000))],
    ['5,000 short lines', withHead(lines(5_000))],
    ['a line of 70 KB', withHead(`a: ${'b'.repeat(70_000)}\r\n`)],
    ['5,000 interim heads', interim.repeat(5_000) + withHead('')],
    [
      'interim heads with 5,000 lines together',
      `HTTP/1.1 103 Early Hints\r\n${lines(1_000)}\r\n`.repeat(5) + withHead(''),
    ],
  ] as const) {
    test(`attack: ${attack} are no response, and end the connection`, async (context) => {
      const peer = await responding(context, response);
      assert.equal((await failureOf(ask(context, peer))).code, 'InvalidResponse');
      await eventually(() => peer.openConnections() === 0);
    });
  }

  for (const [attack, response] of [
    ['3 MB of one-byte trailers', withTrailers('a:b\r\n'.repeat(600_000))],
    ['5,000 short trailers', withTrailers(lines(5_000))],
    [
      '5,000 short trailers of a last response',
      withTrailers(lines(5_000)).replace('OK', 'OK\r\nConnection: close'),
    ],
    ['trailers of 70 KB', withTrailers(`a: ${'b'.repeat(3_500)}\r\n`.repeat(20))],
    [
      'trailers of 70 KB of a last response',
      withTrailers(`a: ${'b'.repeat(3_500)}\r\n`.repeat(20)).replace('OK', 'OK\r\nConnection: close'),
    ],
  ] as const) {
    test(`attack: with ${attack} it breaks off, and ends the connection`, async (context) => {
      const peer = await responding(context, response);
      // The response may break off before anybody has seen its head.
      await assert.rejects(ask(context, peer).then((response) => response.text()));
      await eventually(() => peer.openConnections() === 0);
    });
  }

  test('has 4,000 lines, and as many trailers', async (context) => {
    const peer = await responding(
      context,
      interim + withTrailers(lines(4_000)).replace('OK\r\n', `OK\r\n${lines(4_000)}`),
    );
    const response = await ask(context, peer);
    assert.equal(response.headers.get('a')?.split(', ').length, 4_000);
    assert.equal(await response.text(), 'ok');
  });
});

test('a head that comes byte by byte is read, and beyond its limit no response', async (context) => {
  const byByte = (response: string): Promise<Peer> =>
    startRawPeer(context, (socket) => {
      socket.once('data', async () => {
        for (const byte of response) {
          if (socket.destroyed) return;
          if (!socket.write(byte)) await Promise.race([once(socket, 'drain'), once(socket, 'close')]);
        }
      });
    });
  assert.equal(await (await ask(context, await byByte(interim + withHead(lines(50))))).text(), 'ok');
  const peer = await byByte(withHead(`a: ${'b'.repeat(66_000)}\r\n`));
  assert.equal((await failureOf(ask(context, peer))).code, 'InvalidResponse');
});

describe('a response over HTTP/2', () => {
  test('attack: a head of 2,500 lines, which take 32 bytes more each, is no response, and the watch beside it goes on', async (context) => {
    const peer = await startPeer(context, 'h2', (incoming, outgoing) => {
      if (incoming.url === '/large') {
        for (let index = 0; index < 2_500; index++) outgoing.setHeader(`x-${index}`, 'b');
        outgoing.end('ok');
      } else {
        outgoing.write('first ');
        events.push(() => outgoing.end('last'));
      }
    });
    const events: (() => void)[] = [];
    const transport = newTransport(context);
    const watch = await send(transport, peer.destination, get(), { target: '/watch' });
    const failure = await failureOf(send(transport, peer.destination, get(), { target: '/large' }));
    assert.equal(failure.code, 'InvalidResponse');
    for (const end of events) end();
    assert.equal(await watch.text(), 'first last');
    assert.equal(peer.connections(), 1);
  });
});

describe('a response to an upgrade', () => {
  for (const [attack, response] of [
    ['5,000 short lines', withHead(lines(5_000))],
    ['a line of 70 KB', withHead(`a: ${'b'.repeat(70_000)}\r\n`)],
    ['5,000 interim heads', interim.repeat(5_000) + withHead('')],
    [
      'interim heads of 100 KB together',
      `HTTP/1.1 103 Early Hints\r\na: ${'b'.repeat(10_000)}\r\n\r\n`.repeat(10) + withHead(''),
    ],
    [
      '5,000 short lines, switching',
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\n${lines(5_000)}\r\n`,
    ],
  ] as const) {
    test(`attack: ${attack} are no response, and end the connection`, async (context) => {
      const destination = await startDestination(context, response);
      const router = await startRouter(context, { destination: destination.destination });
      await connect(context, router, upgradeRequest('SPDY/3.1'));
      await destination.closed;
      await eventually(() => router.failures.length > 0);
      assert.equal(router.failures[0]?.code, 'InvalidResponse');
    });
  }
});
