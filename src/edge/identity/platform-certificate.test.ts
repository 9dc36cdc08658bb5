import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseDistinguishedName, platformCertificate } from './platform-certificate.ts';

/** Writes a value as RFC 4514 section 2.4 has it. */
function written(value: string): string {
  return value
    .replace(/["+,;<>\\]/g, '\\$&')
    .replaceAll('\0', '\\00')
    .replace(/^[ #]/, '\\$&')
    .replace(/ $/, (space, offset: number) => (offset === 0 ? space : '\\ '));
}

test('reads what RFC 4514 writes, whatever is in a value', () => {
  const value = fc.string({ unit: 'binary', minLength: 1, maxLength: 30 });
  const attribute = fc.record({ type: fc.constantFrom('CN', 'O', 'OU'), value }, { noNullPrototype: true });
  fc.assert(
    fc.property(fc.array(attribute, { minLength: 1, maxLength: 6 }), (attributes) => {
      const text = attributes.map(({ type, value }) => `${type}=${written(value)}`).join(',');
      assert.deepEqual(parseDistinguishedName(text), attributes);
    }),
  );
});

test('resolves escapes of characters and of bytes', () => {
  for (const [text, value] of [
    ['CN=Lu\\C4\\8Di\\C4\\87', 'Lučić'],
    ['cn=a\\2Cb', 'a,b'],
    ['CN=\\ a\\ ', ' a '],
    ['CN=\\#1', '#1'],
    ['CN=a=b', 'a=b'],
    ['CN=a\\=b', 'a=b'],
    ['CN=\u{1F600}', '\u{1F600}'],
  ] as const) {
    assert.deepEqual(parseDistinguishedName(text), [{ type: 'CN', value }], text);
  }
});

test('refuses what two readers could take for two names', () => {
  for (const text of [
    '',
    'CN',
    'CN=',
    '=jane',
    'CN=jane,',
    ',CN=jane',
    'CN=jane,,O=a',
    // Multi-valued.
    'CN=jane+O=system:masters',
    'O=a+CN=jane',
    // Another separator of RFC 2253's predecessors, and the other form of a subject.
    'CN=jane;O=system:masters',
    '/O=system:masters/CN=jane',
    // Quoted and hexadecimal values.
    'CN="jane, O=system:masters"',
    'CN=#0C046A616E65',
    '2.5.4.3=jane',
    // Spaces that some readers drop.
    'CN=jane, O=a',
    'CN= jane',
    'CN=jane ',
    'CN =jane',
    // Escapes that are none.
    'CN=jane\\',
    'CN=ja\\ne',
    'CN=jane\\4',
    'CN=jane\\zz',
    // Bytes that are no UTF-8, and half a character.
    'CN=jane\\FF',
    'CN=jane\\C4',
    'CN=a<b',
    'CN=a\0b',
    `CN=${'x'.repeat(5_000)}`,
  ]) {
    assert.equal(parseDistinguishedName(text), undefined, JSON.stringify(text.slice(0, 60)));
  }
});

test('no text makes it throw', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      parseDistinguishedName(text);
    }),
  );
});

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
