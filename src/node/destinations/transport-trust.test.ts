import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAuthority } from '../../../test/support/certificates.ts';
import { servingAuthority, startPeer } from '../../../test/support/node-exchange.ts';
import { failureOf, newTransport } from '../../../test/support/node-transport.ts';
import type { DestinationTrust } from '../../request/destination.ts';

test('attack: many CA bundles never change what peers are checked against', async (context) => {
  const peer = await startPeer(context, 'h2', () => {});
  const { dialer } = newTransport(context);
  const stranger = await createAuthority('stranger');
  const dial = async (trust: DestinationTrust, presentFrontProxyCertificate: boolean): Promise<void> => {
    const destination = { ...peer.destination, trust };
    const socket = await dialer.dial({ destination, presentFrontProxyCertificate, protocols: ['h2'] });
    socket.destroy();
  };
  for (let index = 0; index < 70; index++) {
    const pem = `${stranger.certificate}# ${index}\n`;
    assert.equal((await failureOf(dial({ kind: 'ca-bundle', pem }, true))).code, 'TLSFailed');
  }
  await dial({ kind: 'peer-ca' }, true);
  await dial({ kind: 'peer-ca' }, false);
  await dial({ kind: 'ca-bundle', pem: servingAuthority.certificate }, false);
});
