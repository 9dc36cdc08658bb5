import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { TlsDialer } from '../../../src/node/destinations/tls-dialer.ts';
import { credentials, type Peer, startRawPeer } from '../../../test/support/node-exchange.ts';
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
  inbox.take = (bytes) => {
    lent ??= bytes;
    pieces.push(Buffer.from(bytes));
  };
  socket.resume();
  await once(socket, 'end');
  socket.destroy();
  assert.ok(Buffer.concat(pieces).equals(patternOf(mebibyte)));
  assert.ok(pieces.length > 1 && lent?.equals(pieces[0] ?? Buffer.alloc(0)) === false);
});
