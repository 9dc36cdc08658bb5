import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { credentials, type Protocol, startPeer } from '../../../test/support/node-exchange.ts';
import { newTransport, send } from '../../../test/support/node-transport.ts';

const protocols: readonly Protocol[] = ['h2', 'http/1.1'];

describe('credentials that change while a connection is being opened', () => {
  for (const protocol of protocols) {
    test(`leave no request unanswered: ${protocol}`, async (context) => {
      const peer = await startPeer(context, protocol, (_incoming, outgoing) => outgoing.end('answered'));
      const transport = newTransport(context);
      const before = [send(transport, peer.destination), send(transport, peer.destination)];
      // At once: no packet has gone out yet.
      transport.updateCredentials(credentials);
      const after = send(transport, peer.destination);
      for (const response of await Promise.all([...before, after])) {
        assert.equal(await response.text(), 'answered');
      }
    });

    test(`leave no connection behind: ${protocol}`, async (context) => {
      const peer = await startPeer(context, protocol, (_incoming, outgoing) => outgoing.end('answered'));
      const transport = newTransport(context);
      const waiting = send(transport, peer.destination);
      transport.updateCredentials(credentials);
      await (await waiting).text();
      await eventually(() => peer.connections() === 1 && peer.openConnections() === 0);
    });
  }
});
