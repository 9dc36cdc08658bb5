import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startPeer } from '../../../test/support/node-exchange.ts';
import { newTransport, send } from '../../../test/support/node-transport.ts';

test('responses without a length are whole, however short they are and however late they are read (h2)', async (context) => {
  const peer = await startPeer(context, 'h2', (incoming, outgoing) => {
    const pieces = Number(incoming.headers['x-pieces']);
    outgoing.writeHead(200);
    for (let piece = 0; piece < pieces; piece++) outgoing.write('x'.repeat(20_000));
    outgoing.end('end');
  });
  const transport = newTransport(context);
  const responses = Array.from({ length: 200 }, async (_, index) => {
    const pieces = index % 4;
    const response = await send(transport, peer.destination, undefined, {
      headers: ['x-pieces', String(pieces)],
    });
    // Some are read when the stream has long been closed.
    for (let turn = 0; turn < index % 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    assert.equal((await response.text()).length, pieces * 20_000 + 3);
  });
  await Promise.all(responses);
});
