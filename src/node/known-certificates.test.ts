import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import { createAuthority } from '../../test/support/certificates.ts';
import { KnownCertificates } from './known-certificates.ts';

test('certificates are known by their bytes, and the oldest makes room', async () => {
  const authority = await createAuthority('ca');
  const issue = async (): Promise<string> =>
    (await authority.issue({ commonName: 'jane', usage: 'client' })).certificate;
  const [first, second, third] = [await issue(), await issue(), await issue()];
  const known = new KnownCertificates<string>(2);
  known.set(new X509Certificate(first), 'first');
  known.set(new X509Certificate(second), 'second');
  // Parsed anew, as each connection does it; the same subject and issuer are another certificate.
  assert.equal(known.get(new X509Certificate(first)), 'first');
  assert.equal(known.get(new X509Certificate(third)), undefined);
  known.set(new X509Certificate(third), 'third');
  assert.equal(known.get(new X509Certificate(first)), undefined);
  assert.equal(known.get(new X509Certificate(second)), 'second');
  assert.equal(known.get(new X509Certificate(third)), 'third');
});
