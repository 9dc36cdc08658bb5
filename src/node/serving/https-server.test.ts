import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { describe, it, type TestContext, test } from 'node:test';
import { type ConnectionOptions, connect } from 'node:tls';
import { frontProxyAuthority, servingAuthority } from '../../../test/support/api-servers/node-exchange.ts';
import { createAuthority } from '../../../test/support/certificates.ts';
import { askHttp1 } from '../../../test/support/clients/node-clients.ts';
import { recordingLogger } from '../../../test/support/recording-logger.ts';
import { mirror, servingTls, startServer } from '../../../test/support/routers/node-server.ts';
import {
  ClientCertificateReader,
  clientCertificateTlsOptions,
  readClientAuthorities,
} from '../callers/client-certificate.ts';
import type { TlsParameters } from '../configuration/serve-config.ts';
import { byName, certificateFor, type NamedPair } from './https-server.ts';

async function pairOf(
  commonName: string,
  dnsNames: readonly string[],
  ...names: string[]
): Promise<NamedPair> {
  const { chain, privateKey } = await servingAuthority.issue({ commonName, dnsNames, usage: 'server' });
  return { cert: chain, key: privateKey, names };
}

/** The common name of the certificate that a client gets who asks for `servername`. */
async function shownTo(
  port: number,
  servername: string,
  options: ConnectionOptions = {},
  until?: Promise<void>,
): Promise<string> {
  const socket = connect({
    host: '127.0.0.1',
    port,
    servername,
    ca: servingAuthority.certificate,
    checkServerIdentity: () => undefined,
    ...options,
  });
  await once(socket, 'secureConnect');
  const { subject } = socket.getPeerCertificate();
  // In TLS 1.3 the client is done before the server.
  await until;
  socket.destroy();
  return String(subject.CN);
}

async function serve(context: TestContext, namedPairs: readonly NamedPair[]) {
  return startServer(context, mirror, { tls: { ...servingTls, namedPairs } });
}

describe('the certificate that a client gets', () => {
  const shown = async (pairs: readonly NamedPair[], ...names: string[]) => {
    const values = byName(pairs, (pair) => pairs.indexOf(pair));
    return names.map((name) => certificateFor(name, values));
  };

  it('is that of the name, else of a wildcard for the first label, in any case', async () => {
    const pairs = [
      await pairOf('one', ['one.example'], '*.apps.example'),
      await pairOf('two', ['two.example'], 'API.apps.example'),
    ];
    assert.deepEqual(
      await shown(pairs, 'api.apps.example', 'WEB.apps.example', 'a.b.apps.example', 'apps.example'),
      [1, 0, undefined, undefined],
    );
  });

  it('is by the certificate’s own names where none are given, and addresses are none', async () => {
    const pairs = [
      await pairOf('common.example', ['alt.example', '*.wild.example']),
      await pairOf('10.0.0.1', ['given.example'], 'other.example'),
    ];
    const names = ['common.example', 'alt.example', 'x.wild.example', 'given.example', '10.0.0.1'];
    assert.deepEqual(await shown(pairs, ...names), [0, 0, 0, undefined, undefined]);
  });

  it('is that of a given name before an extracted one, and of the earlier pair', async () => {
    const pairs = [
      await pairOf('extracted', ['same.example']),
      await pairOf('first', [], 'same.example', 'twice.example'),
      await pairOf('second', [], 'twice.example'),
    ];
    assert.deepEqual(await shown(pairs, 'same.example', 'twice.example'), [1, 1]);
  });
});

test('clients get the certificate for the name they ask for, and others the ordinary one', async (context) => {
  const { port } = await serve(context, [
    await pairOf('apps', [], '*.apps.example'),
    await pairOf('api', ['api.apps.example']),
  ]);
  assert.equal(await shownTo(port, 'web.apps.example'), 'apps');
  assert.equal(await shownTo(port, 'api.apps.example'), 'api');
  assert.equal(await shownTo(port, 'other.example'), 'router');
  assert.equal(await shownTo(port, ''), 'router');
});

test('a new pair for a name is used for new connections', async (context) => {
  const { port, server } = await serve(context, [await pairOf('old', [], 'name.example')]);
  server.setSecureContext({
    ...servingTls,
    namedPairs: [await pairOf('new', [], 'name.example')],
  });
  assert.equal(await shownTo(port, 'name.example'), 'new');
});

test('a pair whose certificate names nobody at the start is used once it names somebody', async (context) => {
  const { port, server } = await serve(context, [await pairOf('10.0.0.1', [])]);
  assert.equal(await shownTo(port, 'name.example'), 'router');
  server.setSecureContext({ ...servingTls, namedPairs: [await pairOf('name.example', [])] });
  assert.equal(await shownTo(port, 'name.example'), 'name.example');
});

test('an unusable pair changes nothing', async (context) => {
  const { port, server } = await serve(context, [await pairOf('old', [], 'name.example')]);
  const next = { ...(await pairOf('new', [], 'name.example')), key: 'none' };
  assert.throws(() => server.setSecureContext({ ...servingTls, namedPairs: [next] }), {
    code: 'InvalidServingCertificate',
  });
  assert.equal(await shownTo(port, 'name.example'), 'old');
});

test('a client is known by its certificate behind another name, and no stranger is', async (context) => {
  const authorities = readClientAuthorities({ clientCa: frontProxyAuthority.certificate });
  const reader = new ClientCertificateReader(authorities);
  const seen: unknown[] = [];
  let isSeen = Promise.withResolvers<void>();
  const { port } = await startServer(
    context,
    () => {
      throw new Error('no request is sent');
    },
    {
      tls: {
        ...servingTls,
        ...clientCertificateTlsOptions(authorities),
        namedPairs: [await pairOf('apps', [], 'apps.example')],
      },
      clientCertificateOf(carrier) {
        const info = reader.read(carrier);
        seen.push(info.clientCertificate?.commonName ?? (info.clientCertificateError && 'refused'));
        isSeen.resolve();
        return info;
      },
    },
  );
  for (const authority of [frontProxyAuthority, await createAuthority('stranger')]) {
    const { chain, privateKey } = await authority.issue({ commonName: 'alice', usage: 'client' });
    isSeen = Promise.withResolvers<void>();
    const options = { cert: chain, key: privateKey };
    assert.equal(await shownTo(port, 'apps.example', options, isSeen.promise), 'apps');
  }
  assert.deepEqual(seen, ['alice', 'refused']);
});

test('the lowest version of TLS holds for every name', async (context) => {
  const tls = { ...servingTls, minVersion: 'TLSv1.3' } as const;
  const named = await pairOf('apps', [], 'apps.example');
  const { port } = await startServer(context, mirror, { tls: { ...tls, namedPairs: [named] } });
  await assert.rejects(shownTo(port, 'apps.example', { maxVersion: 'TLSv1.2' }), {
    code: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
  });
});

/** Version and suite of a handshake, or why there is none. */
async function handshake(
  context: TestContext,
  parameters: Partial<TlsParameters>,
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
  const parameters = { minVersion: 'TLSv1.3' } as const;
  assert.match(await handshake(context, parameters, {}), /^TLSv1\.3 /);
  const refused = await handshake(context, parameters, { maxVersion: 'TLSv1.2' });
  assert.equal(refused, 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION');
});

test('a handshake that fails is told of with its cause, once for many; a port that is only looked at is not', async (context) => {
  const { logger, lines } = recordingLogger();
  const { port } = await startServer(context, mirror, {
    logger,
    tls: { ...servingTls, minVersion: 'TLSv1.3' },
  });
  const looks = connectTcp(port, '127.0.0.1');
  await once(looks, 'connect');
  looks.destroy();
  for (let time = 0; time < 3; time++) {
    const socket = connect({
      host: '127.0.0.1',
      port,
      ca: servingAuthority.certificate,
      maxVersion: 'TLSv1.2',
    });
    await once(socket, 'error');
  }
  assert.deepEqual(
    lines.map(({ level, fields, message }) => [level, fields['cause'], message]),
    [['warn', 'protocol_mismatch', 'A TLS handshake of a client failed']],
  );
});

test('of the suites of TLS 1.3 that of Go comes first, whatever the client prefers', async (context) => {
  const offered = { ciphers: 'TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA256' };
  assert.equal(await handshake(context, {}, offered), 'TLSv1.3 TLS_AES_128_GCM_SHA256');
});

test('of the suites of TLS 1.2 those with AES-GCM are taken, and no others', async (context) => {
  const with12 = (ciphers?: string) =>
    handshake(context, {}, { maxVersion: 'TLSv1.2', ...(ciphers === undefined ? {} : { ciphers }) });
  assert.equal(await with12(), 'TLSv1.2 ECDHE-ECDSA-AES128-GCM-SHA256');
  const longer = 'ECDHE-ECDSA-AES256-GCM-SHA384';
  assert.equal(await with12(longer), `TLSv1.2 ${longer}`);
  for (const suite of ['ECDHE-ECDSA-CHACHA20-POLY1305', 'ECDHE-ECDSA-AES128-SHA']) {
    assert.match(await with12(suite), /HANDSHAKE_FAILURE/);
  }
});

test('what was chosen outlasts a new certificate', async (context) => {
  const tls = { ...servingTls, minVersion: 'TLSv1.3' } as const;
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
