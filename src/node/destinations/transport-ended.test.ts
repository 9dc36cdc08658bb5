import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { type PeerOutgoing, startPeer } from '../../../test/support/node-exchange.ts';
import { newTransport, send } from '../../../test/support/node-transport.ts';

for (const protocol of ['h2', 'http/1.1'] as const) {
  describe(`the connections to a destination are ended (${protocol})`, () => {
    /** A destination with one response under way. */
    const responding = async (context: Parameters<typeof startPeer>[0]) => {
      const responses: PeerOutgoing[] = [];
      const peer = await startPeer(context, protocol, (_incoming, outgoing) => {
        outgoing.writeHead(200);
        outgoing.write('first ');
        responses.push(outgoing);
      });
      const transport = newTransport(context);
      const response = await send(transport, peer.destination);
      return { peer, transport, response, responses };
    };

    test('at once: responses in flight break off and never pass for whole', async (context) => {
      const { peer, transport, response } = await responding(context);
      transport.endConnections(peer.destination, 'at-once');
      await assert.rejects(response.text());
      await eventually(() => peer.openConnections() === 0);
    });

    test('when idle: requests in flight end first', async (context) => {
      const { peer, transport, response, responses } = await responding(context);
      transport.endConnections(peer.destination, 'when-idle');
      responses[0]?.end('last');
      assert.equal(await response.text(), 'first last');
      await eventually(() => peer.openConnections() === 0);
    });

    test('and the next request finds a new one', async (context) => {
      for (const how of ['at-once', 'when-idle'] as const) {
        const { peer, transport, responses } = await responding(context);
        transport.endConnections(peer.destination, how);
        const next = await send(transport, peer.destination);
        responses[1]?.end('last');
        assert.equal(await next.text(), 'first last');
        assert.equal(peer.connections(), 2);
      }
    });

    test('those to other destinations stay', async (context) => {
      const { transport, response, responses } = await responding(context);
      const other = await startPeer(context, protocol, (_incoming, outgoing) => outgoing.end());
      transport.endConnections(other.destination, 'at-once');
      responses[0]?.end('last');
      assert.equal(await response.text(), 'first last');
    });
  });
}
