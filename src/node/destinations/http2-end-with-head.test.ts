import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createServer, type TLSSocket } from 'node:tls';
import { destinationAt, peerPair } from '../../../test/support/node-exchange.ts';
import { newTransport, send } from '../../../test/support/node-transport.ts';
import { frame, frameFlag, frameType } from '../../../test/support/security/raw-http2.ts';
import type { Destination } from '../../request/destination.ts';

const prefaceLength = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'.length;
/** `:status: 304` and `:status: 200` in the static table (RFC 7541 appendix A). */
const status304 = Buffer.from([0x8b]);
const status200 = Buffer.from([0x88]);

/** A destination that responds to each request with these frames, in one write. */
async function startResponding(
  context: TestContext,
  response: (stream: number) => readonly Buffer[],
): Promise<Destination> {
  const sockets = new Set<TLSSocket>();
  const server = createServer(
    { cert: peerPair.chain, key: peerPair.privateKey, ALPNProtocols: ['h2'] },
    (socket) => {
      sockets.add(socket);
      socket.setNoDelay();
      socket.write(frame(frameType.settings, frameFlag.none, 0));
      let unread = Buffer.alloc(0);
      let hasPreface = false;
      socket
        .on('error', () => {})
        .on('data', (chunk: Buffer) => {
          unread = Buffer.concat([unread, chunk]);
          if (!hasPreface && unread.length >= prefaceLength) {
            unread = unread.subarray(prefaceLength);
            hasPreface = true;
          }
          while (hasPreface && unread.length >= 9 && unread.length >= 9 + unread.readUIntBE(0, 3)) {
            const type = unread.readUInt8(3);
            const flags = unread.readUInt8(4);
            const stream = unread.readUInt32BE(5);
            unread = unread.subarray(9 + unread.readUIntBE(0, 3));
            if (type === frameType.settings && flags === frameFlag.none) {
              socket.write(frame(frameType.settings, frameFlag.ack, 0));
            }
            if (type === frameType.headers) for (const each of response(stream)) socket.write(each);
          }
        });
    },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return destinationAt(`https://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

// How kube-apiserver says 304 (Go's http2 server): a head without END_STREAM, then an empty DATA frame with it.
test('a response is whole when its END_STREAM comes in one segment with its head, on a frame without data', async (context) => {
  const destination = await startResponding(context, (stream) => [
    frame(frameType.headers, frameFlag.endHeaders, stream, status304),
    frame(frameType.data, frameFlag.endStream, stream),
  ]);
  const transport = newTransport(context);
  for (let request = 0; request < 100; request++) {
    const response = await send(transport, destination);
    assert.equal(response.status, 304);
    assert.equal(await response.text(), '');
  }
});

test('a response is whole when all of it comes in one segment', async (context) => {
  const destination = await startResponding(context, (stream) => [
    frame(frameType.headers, frameFlag.endHeaders, stream, status200),
    frame(frameType.data, frameFlag.none, stream, Buffer.from('who')),
    frame(frameType.data, frameFlag.endStream, stream, Buffer.from('le')),
  ]);
  const transport = newTransport(context);
  for (let request = 0; request < 100; request++) {
    assert.equal(await (await send(transport, destination)).text(), 'whole');
  }
});

test('attack: a response that a reset with NO_ERROR ends in one segment with its head does not pass for whole', async (context) => {
  const destination = await startResponding(context, (stream) => [
    frame(frameType.headers, frameFlag.endHeaders, stream, status200),
    frame(frameType.data, frameFlag.none, stream, Buffer.from('half')),
    frame(frameType.rstStream, frameFlag.none, stream, Buffer.alloc(4)),
  ]);
  const transport = newTransport(context);
  for (let request = 0; request < 20; request++) {
    await assert.rejects(async () => (await send(transport, destination)).text());
  }
});
