import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { createSecureContext } from 'node:tls';
import { ServeOptionsCheck, serveFiles } from '../../../test/support/serve-options.ts';

let check: ServeOptionsCheck;
before(async () => {
  check = new ServeOptionsCheck(await serveFiles());
});

const tls = async (...names: string[]) => (await check.config({ 'tls-cipher-suites': names })).tls;

describe('TLS of the serving port', () => {
  it('is 1.2 or later with OpenSSL’s suites, unless something is given', async () => {
    assert.deepEqual((await check.config()).tls, { minVersion: 'TLSv1.2', ciphers: undefined });
    const { tls: given } = await check.config({ 'tls-min-version': ['VersionTLS13'] });
    assert.equal(given.minVersion, 'TLSv1.3');
  });

  it('knows suites by the names of kube-apiserver, and keeps those of TLS 1.3', async () => {
    const { ciphers = '' } = await tls(
      'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305',
      'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256',
    );
    assert.equal(
      ciphers,
      'TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-CHACHA20-POLY1305',
    );
    assert.doesNotThrow(() => createSecureContext({ ciphers }));
    const only13 = await tls('TLS_AES_128_GCM_SHA256');
    assert.doesNotThrow(() => createSecureContext({ ciphers: only13.ciphers }));
  });

  it('refuses versions and suites that are too old, and lists the others', async () => {
    assert.match(
      await check.messages({ 'tls-cipher-suites': ['TLS_RSA_WITH_AES_128_CBC_SHA'] }),
      /has "TLS_RSA_WITH_AES_128_CBC_SHA", which HTTP\/2 does not allow; it allows TLS_ECDHE_ECDSA_WITH_AES_128_GCM/,
    );
    assert.match(
      await check.messages({ 'tls-min-version': ['VersionTLS11'] }),
      /--tls-min-version must be one of VersionTLS12, VersionTLS13/,
    );
  });
});

describe('serving pairs with names', () => {
  const named = async (...given: string[]) =>
    (await check.config({ 'tls-sni-cert-key': given })).namedServing.map(
      ({ certificate, privateKey, names }) => [certificate.path, privateKey.path, ...names],
    );

  it('are files with names or without, one pair for each flag', async () => {
    assert.deepEqual(
      await named('serving.crt,serving.key', ' serving.crt, serving.key : *.foo.com , foo.com'),
      [
        ['serving.crt', 'serving.key'],
        ['serving.crt', 'serving.key', '*.foo.com', 'foo.com'],
      ],
    );
  });

  it('must be written that way, and fit each other', async () => {
    for (const given of ['serving.crt', 'serving.crt,serving.key:', 'a,b,c', ',serving.key:foo.com']) {
      assert.match(
        await check.messages({ 'tls-sni-cert-key': [given] }),
        /--tls-sni-cert-key must be a certificate and its key, as a flag cert\.crt,cert\.key/,
        given,
      );
    }
    assert.match(
      await check.messages({ 'tls-sni-cert-key': ['serving.crt,front-proxy-client.key'] }),
      /--tls-sni-cert-key: the key in front-proxy-client\.key does not belong/,
    );
  });

  it('are never chosen by an address', async () => {
    const warnings = await check.warnings({ 'tls-sni-cert-key': ['serving.crt,serving.key:10.0.0.1,::1'] });
    assert.match(warnings.join('\n'), /10\.0\.0\.1 is never asked for.*\n.*::1 is never asked for/);
  });
});
