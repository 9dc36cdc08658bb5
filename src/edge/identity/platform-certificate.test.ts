import assert from 'node:assert/strict';
import { test } from 'node:test';
import { platformCertificate } from './platform-certificate.ts';

const verified = {
  certPresented: '1',
  certVerified: 'SUCCESS',
  certRevoked: '0',
  certSubjectDN: '/O=root/CN=root',
  certSubjectDNRFC2253: 'CN=jane,O=b\\, c,C=DE,O=a',
};

test('a verified certificate names the user, and its organizations in the order of the certificate', () => {
  assert.deepEqual(platformCertificate({ tlsClientAuth: verified }), {
    clientCertificate: { commonName: 'jane', organizations: ['a', 'b, c'], authority: 'client-ca' },
  });
});

test('its fingerprint names the credential, where the platform tells it', () => {
  const sha256Of = (certFingerprintSHA256: unknown) =>
    platformCertificate({ tlsClientAuth: { ...verified, certFingerprintSHA256 } }).clientCertificate?.sha256;
  assert.equal(sha256Of('AB'.repeat(32)), 'ab'.repeat(32));
  for (const odd of ['ab', `${'ab'.repeat(32)}\r\nA: b`, 1]) assert.equal(sha256Of(odd), undefined);
});

test('no certificate is no opinion', () => {
  for (const cf of [
    undefined,
    null,
    'SUCCESS',
    {},
    { tlsClientAuth: null },
    { tlsClientAuth: { ...verified, certPresented: '0' } },
    { tlsClientAuth: { ...verified, certPresented: 1 } },
  ]) {
    assert.deepEqual(platformCertificate(cf), {});
  }
});

test('a certificate that was not verified, is revoked or cannot be read identifies nobody', () => {
  for (const [changes, message] of [
    [{ certVerified: 'FAILED:unable to get issuer' }, /FAILED/],
    [{ certVerified: 'NONE' }, /NONE/],
    [{ certVerified: true }, /did not verify/],
    [{ certRevoked: '1' }, /revoked/],
    [{ certRevoked: undefined }, /revoked/],
    [{ certSubjectDNRFC2253: undefined }, /subject/],
    [{ certSubjectDNRFC2253: 'CN=jane+O=system:masters' }, /subject/],
    [{ certSubjectDNRFC2253: 'CN=jane,CN=admin' }, /more than one common name/],
  ] as const) {
    const { clientCertificate, clientCertificateError } = platformCertificate({
      tlsClientAuth: { ...verified, ...changes },
    });
    assert.equal(clientCertificate, undefined);
    assert.match(clientCertificateError ?? '', message);
  }
});
