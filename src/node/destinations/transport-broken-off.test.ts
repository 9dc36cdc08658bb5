import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { type PeerOutgoing, type Protocol, startPeer } from '../../../test/support/node-exchange.ts';
import { newTransport, send } from '../../../test/support/node-transport.ts';
import { inboundFromRequest } from '../../request/inbound.ts';

for (const protocol of ['h2', 'http/1.1'] as const) {
  describe(`responses that break off are reported (${protocol})`, () => {
    test('when the destination ends in the middle of one', async (context) => {
      const { peer, told, ask } = await beginning(context, protocol);
      const response = await ask();
      await peer.stop();
      await assert.rejects(response.text());
      assert.deepEqual(told, [peer.destination.origin]);
    });

    test('not for a response that is complete', async (context) => {
      const { told, responses, ask } = await beginning(context, protocol);
      const response = await ask();
      responses[0]?.end('last');
      assert.equal(await response.text(), 'first last');
      assert.deepEqual(told, []);
    });

    test('not when it ends before one has begun: the request itself tells of that', async (context) => {
      const { told, ask } = await beginning(context, protocol, (outgoing) => outgoing.destroy());
      await assert.rejects(ask());
      assert.deepEqual(told, []);
    });

    test('not when it is the client that goes', async (context) => {
      const { peer, told, ask } = await beginning(context, protocol);
      const client = new AbortController();
      const response = await ask(client.signal);
      client.abort();
      await assert.rejects(response.text());
      if (protocol === 'http/1.1') await eventually(() => peer.openConnections() === 0);
      assert.deepEqual(told, []);
    });
  });
}

/** A destination that begins its responses, if `response` does not say otherwise. */
async function beginning(
  context: TestContext,
  protocol: Protocol,
  response: (outgoing: PeerOutgoing) => void = (outgoing) => {
    outgoing.writeHead(200);
    outgoing.write('first ');
  },
) {
  const responses: PeerOutgoing[] = [];
  const peer = await startPeer(context, protocol, (_incoming, outgoing) => {
    responses.push(outgoing);
    response(outgoing);
  });
  const told: string[] = [];
  const transport = newTransport(context, { onBrokenOff: (origin) => told.push(origin) });
  const ask = (signal = new AbortController().signal): Promise<Response> =>
    send(transport, peer.destination, inboundFromRequest(new Request('https://router/', { signal })));
  return { peer, told, responses, ask };
}
