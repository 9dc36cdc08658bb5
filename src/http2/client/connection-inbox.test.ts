import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { Client } from 'undici';
import { eventually } from '../../../test/support/eventually.ts';
import { credentials, type Peer, startPeer, startRawPeer } from '../../../test/support/node-exchange.ts';
import { newTransport, send } from '../../../test/support/node-transport.ts';
import { TlsDialer } from '../../node/destinations/tls-dialer.ts';
import { ConnectionInbox } from './client-session.ts';

const mebibyte = 1024 * 1024;

async function dial({ destination }: Peer): Promise<{ socket: TLSSocket; inbox: ConnectionInbox }> {
  const inbox = new ConnectionInbox();
  const socket = await new TlsDialer({ credentials }).dial({
    destination,
    presentFrontProxyCertificate: true,
    protocols: ['h2', 'http/1.1'],
    onread: inbox.onread,
  });
  return { socket, inbox };
}

/** undici on one socket that was dialled with an inbox, and is left to it. */
async function clientFor(context: TestContext, peer: Peer): Promise<Client> {
  const { socket, inbox } = await dial(peer);
  assert.equal(socket.alpnProtocol, 'http/1.1');
  inbox.leaveTo(socket);
  const client = new Client(peer.destination.origin, {
    connect: (_options, callback) => queueMicrotask(() => callback(null, socket)),
  });
  context.after(() => client.destroy());
  return client;
}

/** Bytes in which no two places look alike. */
function patternOf(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let offset = 0; offset + 4 <= length; offset += 4) bytes.writeUInt32LE(offset, offset);
  return bytes;
}

test('bytes go to whoever takes them, in order, and are overwritten afterwards', async (context) => {
  const peer = await startRawPeer(context, (socket) => socket.end(patternOf(mebibyte)));
  const { socket, inbox } = await dial(peer);
  const pieces: Buffer[] = [];
  let lent: Buffer | undefined;
  inbox.take((bytes) => {
    lent ??= bytes;
    pieces.push(Buffer.from(bytes));
  });
  socket.resume();
  await once(socket, 'end');
  socket.destroy();
  assert.ok(Buffer.concat(pieces).equals(patternOf(mebibyte)));
  assert.ok(pieces.length > 1 && lent?.equals(pieces[0] ?? Buffer.alloc(0)) === false);
});

test('a socket that is left to undici gives large responses whole, one after the other', async (context) => {
  const body = patternOf(5 * mebibyte);
  const peer = await startPeer(context, 'http/1.1', (_incoming, outgoing) => outgoing.end(body));
  const client = await clientFor(context, peer);
  for (let count = 0; count < 3; count++) {
    const response = await client.request({ path: '/', method: 'GET' });
    assert.ok(Buffer.from(await response.body.arrayBuffer()).equals(body));
  }
  assert.equal(peer.connections(), 1);
});

test('a slow reader of such a socket holds the server up, and gets everything when it reads', async (context) => {
  const size = 64 * mebibyte;
  let written = 0;
  const piece = Buffer.alloc(65_536, 's');
  const peer = await startPeer(context, 'http/1.1', async (_incoming, outgoing) => {
    outgoing.on('error', () => {});
    while (written < size) {
      written += piece.length;
      if (!outgoing.write(piece)) await once(outgoing, 'drain');
    }
    outgoing.end();
  });
  const client = await clientFor(context, peer);
  const { body } = await client.request({ path: '/', method: 'GET' });
  // Until the server has been held up for many turns of the event loop.
  let before = -1;
  while (before !== written) {
    before = written;
    for (let turn = 0; turn < 500; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
  assert.ok(written < size / 2, `${written} bytes were taken`);
  let read = 0;
  for await (const chunk of body) read += chunk.length;
  assert.equal(read, size);
});

test('a response that ends with its connection is whole when the end of the stream is here', async (context) => {
  const body = patternOf(mebibyte);
  const peer = await startRawPeer(context, (socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n');
      socket.end(body);
    });
  });
  const client = await clientFor(context, peer);
  const response = await client.request({ path: '/', method: 'GET' });
  assert.ok(Buffer.from(await response.body.arrayBuffer()).equals(body));
  await eventually(() => peer.openConnections() === 0);
});

test('a response that breaks off with its connection does not pass for whole', async (context) => {
  const peer = await startRawPeer(context, (socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n');
      socket.end('half');
    });
  });
  const client = await clientFor(context, peer);
  const response = await client.request({ path: '/', method: 'GET' });
  await assert.rejects(response.body.arrayBuffer());
});

test('a destination that speaks HTTP/1.1 only is reached over the very socket on which that was found out', async (context) => {
  const body = patternOf(5 * mebibyte);
  const peer = await startPeer(context, 'http/1.1', (_incoming, outgoing) => outgoing.end(body));
  const transport = newTransport(context);
  const response = await send(transport, peer.destination);
  assert.ok(Buffer.from(await response.arrayBuffer()).equals(body));
  assert.equal(peer.connections(), 1);
});
