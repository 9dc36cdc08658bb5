import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { type PeerOutgoing, startPeer } from '../../../test/support/node-exchange.ts';
import { get, newTransport, send } from '../../../test/support/node-transport.ts';

test('attack: requests that are given up by the thousand do not end the watch of another client', async (context) => {
  let watch: PeerOutgoing | undefined;
  const peer = await startPeer(context, 'h2', (incoming, outgoing) => {
    outgoing.on('error', () => {});
    outgoing.write('first ');
    if (incoming.url === '/watch') watch = outgoing;
  });
  // All on one connection, as far as its limits allow.
  const transport = newTransport(context, { limits: { spreadAt: 100 } });
  const watching = await send(transport, peer.destination, get(), { target: '/watch' });
  for (let batch = 0; batch < 26; batch++) {
    await Promise.all(
      Array.from({ length: 50 }, async () => {
        const response = await send(transport, peer.destination);
        await response.body?.cancel();
      }),
    );
  }
  assert.ok(watch?.stream?.session?.destroyed === false);
  // The resets went out on several connections, each below what its server puts up with.
  assert.equal(peer.connections(), 3);
  const closed = once(watch, 'close');
  watch.end('last');
  assert.equal(await watching.text(), 'first last');
  await closed;
});
