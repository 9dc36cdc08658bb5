import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { askHttp1, askHttp2, http2Client } from '../../../test/support/node-clients.ts';
import { startPeer, startRawPeer } from '../../../test/support/node-exchange.ts';
import { startRouter } from '../../../test/support/node-router.ts';
import { newTransport, send } from '../../../test/support/node-transport.ts';
import { allHeaders } from '../../apimachinery/raw-headers.ts';

describe('a response without content, from a destination that frames it otherwise', () => {
  for (const [what, status, bytes] of [
    ['a 204 with a length', 204, 'HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n'],
    ['a 205 with a body', 205, 'HTTP/1.1 205 Reset Content\r\nContent-Length: 5\r\n\r\nhello'],
    [
      'a 205 with a chunked body',
      205,
      'HTTP/1.1 205 Reset Content\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
    ],
  ] as const) {
    test(`${what} reaches every client whole, and without it`, async (context) => {
      const peer = await startRawPeer(context, (socket) => {
        socket.on('data', () => socket.write(bytes));
      });
      const router = await startRouter(context, { destination: peer.destination });
      const session = http2Client(context, router.port);
      for (const reached of [await askHttp1(router.port), await askHttp2(session)]) {
        assert.equal(reached.status, status);
        assert.equal(reached.body.length, 0);
        assert.deepEqual(allHeaders(reached.headers, 'content-length'), []);
      }
      const response = await send(newTransport(context), peer.destination);
      assert.equal(response.status, status);
      assert.equal(response.body, null);
      assert.equal(router.failures.length, 0);
    });
  }

  test('a 205 whose body is large holds nothing up', async (context) => {
    const ended = Promise.withResolvers<void>();
    const peer = await startPeer(context, 'http/1.1', (_incoming, outgoing) => {
      outgoing.writeHead(205, { 'content-length': String(8 * 1024 * 1024) });
      outgoing.once('finish', ended.resolve);
      outgoing.end(Buffer.alloc(8 * 1024 * 1024));
    });
    assert.equal((await send(newTransport(context), peer.destination)).status, 205);
    await ended.promise;
  });
});

for (const [what, phrase] of [
  ['Latin-1', Buffer.from('Caf\u00e9', 'latin1')],
  ['UTF-8', Buffer.from('\u732b')],
] as const) {
  test(`a reason phrase in ${what} does not keep the response from an HTTP/1.1 client`, async (context) => {
    const peer = await startRawPeer(context, (socket) => {
      socket.on('data', () => {
        socket.write('HTTP/1.1 200 ');
        socket.write(phrase);
        socket.write('\r\nContent-Length: 5\r\n\r\nhello');
      });
    });
    const router = await startRouter(context, { destination: peer.destination });
    const response = await askHttp1(router.port);
    assert.equal(response.status, 200);
    // It is replaced by the standard one.
    assert.equal(response.statusMessage, 'OK');
    assert.equal(response.body.toString(), 'hello');
    assert.equal(await (await send(newTransport(context), peer.destination)).text(), 'hello');
  });
}
