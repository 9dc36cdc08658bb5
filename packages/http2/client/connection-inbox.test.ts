import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { connect, createServer } from 'node:tls';
import { serving, trusting } from '../test/certificate.ts';
import { listenOnLoopback } from '../test/listen-on-loopback.ts';
import { ConnectionInbox } from './client-session.ts';

const mebibyte = 1024 * 1024;

/** Bytes in which no two places look alike. */
function patternOf(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let offset = 0; offset + 4 <= length; offset += 4) bytes.writeUInt32LE(offset, offset);
  return bytes;
}

test('bytes go to whoever takes them, in order, and are overwritten afterwards', async (context) => {
  const server = createServer(serving, (socket) => socket.end(patternOf(mebibyte)));
  const { port, stop } = await listenOnLoopback(server);
  context.after(stop);
  const inbox = new ConnectionInbox();
  // Node's types leave it out of the options of node:tls.
  const socket = connect({ port, ...trusting, ...{ onread: inbox.onread } });
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
