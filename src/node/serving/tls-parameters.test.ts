import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { test } from 'node:test';
import { type ConnectionOptions, connect } from 'node:tls';
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
