import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { askHttp1 } from '../../../test/support/node-clients.ts';
import { servingAuthority } from '../../../test/support/node-exchange.ts';
import { mirror, startServer } from '../../../test/support/node-server.ts';

for (const protocol of ['http/1.1', 'h2']) {
  // RFC 9113 section 9.2.1; on either protocol another certificate could take the place of the one that was checked.
  test(`attack: a client on TLS 1.2 cannot renegotiate its ${protocol} connection`, async (context) => {
    const { port } = await startServer(context, mirror);
    const socket = connect({
      host: '127.0.0.1',
      port,
      ca: servingAuthority.certificate,
      ALPNProtocols: [protocol],
      maxVersion: 'TLSv1.2',
    });
    context.after(() => socket.destroy());
    socket.on('error', () => {}).resume();
    await once(socket, 'secureConnect');
    assert.equal(socket.alpnProtocol, protocol);
    const outcome = await new Promise<unknown>((resolve, reject) => {
      socket.on('close', () => resolve('closed'));
      socket.renegotiate({ rejectUnauthorized: false }, (error) => resolve(error ?? 'renegotiated'));
      // The router may say nothing at all, and Node's client waits for its word. Meanwhile others shake hands
      // several times over.
      shakeHands(port, 5).then(() => resolve('no word'), reject);
    });
    assert.notEqual(outcome, 'renegotiated');
    assert.equal((await askHttp1(port)).status, 200);
  });
}

/** Opens connections after each other, and asks on each. */
async function shakeHands(port: number, times: number): Promise<void> {
  for (let done = 0; done < times; done++) assert.equal((await askHttp1(port)).status, 200);
}
