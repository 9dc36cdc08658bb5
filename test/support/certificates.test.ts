import assert from 'node:assert/strict';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { it } from 'node:test';
import { createAuthority } from './certificates.ts';

const authority = await createAuthority('ca');

it('writes the names a server answers to', async () => {
  const addresses = ['127.0.0.1', '::1', 'fd00::12:0:0:a', '2001:db8:1:2:3:4:5:6', 'fe80::'];
  const { certificate } = await authority.issue({
    dnsNames: ['kubernetes.default.svc'],
    ipAddresses: addresses,
    usage: 'server',
  });
  const parsed = new X509Certificate(certificate);
  assert.equal(parsed.checkHost('kubernetes.default.svc'), 'kubernetes.default.svc');
  for (const address of addresses) assert.equal(parsed.checkIP(address), address);
  assert.equal(parsed.checkIP('::2'), undefined);
});

it('writes validity on both sides of 2050', async () => {
  for (const notAfter of [new Date('2049-12-31T23:59:59Z'), new Date('2050-01-01T00:00:00Z')]) {
    const { certificate } = await authority.issue({ usage: 'client', notAfter });
    assert.deepEqual(new X509Certificate(certificate).validToDate, notAfter);
  }
});

it('signs what it issues, with a key that fits', async () => {
  const { certificate, privateKey } = await authority.issue({ commonName: 'a', usage: 'client' });
  const parsed = new X509Certificate(certificate);
  assert.ok(parsed.verify(new X509Certificate(authority.certificate).publicKey));
  assert.ok(parsed.checkPrivateKey(createPrivateKey(privateKey)));
});
