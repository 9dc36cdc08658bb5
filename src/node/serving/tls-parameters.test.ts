import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { type ConnectionOptions, connect } from 'node:tls';
import { askHttp1 } from '../../../test/support/node-clients.ts';
import { servingAuthority } from '../../../test/support/node-exchange.ts';
import { mirror, servingTls, startServer } from '../../../test/support/node-server.ts';
import type { TlsParameters } from '../configuration/serve-config.ts';

/** Version and suite of a handshake, or why there is none. */
async function handshake(
  context: TestContext,
  parameters: TlsParameters,
  offered: ConnectionOptions,
): Promise<string> {
  const { port } = await startServer(context, mirror, { tls: { ...servingTls, ...parameters } });
  const socket = connect({ host: '127.0.0.1', port, ca: servingAuthority.certificate, ...offered });
  context.after(() => socket.destroy());
  return new Promise((resolve) => {
    socket.once('secureConnect', () => resolve(`${socket.getProtocol()} ${socket.getCipher().name}`));
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(String(error.code)));
  });
}

test('a client that cannot do the lowest version is refused', async (context) => {
  const parameters = { minVersion: 'TLSv1.3', ciphers: undefined } as const;
  assert.match(await handshake(context, parameters, {}), /^TLSv1\.3 /);
  const refused = await handshake(context, parameters, { maxVersion: 'TLSv1.2' });
  assert.equal(refused, 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION');
});

test('a suite of TLS 1.2 that is not chosen is refused; TLS 1.3 has its own', async (context) => {
  const chosen = 'ECDHE-ECDSA-AES256-GCM-SHA384';
  const parameters = {
    minVersion: 'TLSv1.2',
    ciphers: `TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:${chosen}`,
  } as const;
  const with12 = (ciphers: string) => handshake(context, parameters, { maxVersion: 'TLSv1.2', ciphers });
  assert.equal(await with12(`ECDHE-ECDSA-AES128-GCM-SHA256:${chosen}`), `TLSv1.2 ${chosen}`);
  assert.match(await with12('ECDHE-ECDSA-AES128-GCM-SHA256'), /HANDSHAKE_FAILURE/);
  assert.match(await handshake(context, parameters, {}), /^TLSv1\.3 TLS_AES_/);
});

test('what was chosen outlasts a new certificate', async (context) => {
  const tls = { ...servingTls, minVersion: 'TLSv1.3', ciphers: undefined } as const;
  const { port, server } = await startServer(context, mirror, { tls });
  server.setSecureContext(tls);
  const socket = connect({
    host: '127.0.0.1',
    port,
    ca: servingAuthority.certificate,
    maxVersion: 'TLSv1.2',
  });
  const [error] = await once(socket, 'error');
  assert.equal(error.code, 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION');
});

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
