import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { describe, it, test } from 'node:test';
import { createAuthority } from '../../../test/support/certificates.ts';
import {
  authorities,
  cluster,
  getOverHttp1,
  getOverHttp2,
  listen,
} from '../../../test/support/client-certificate-server.ts';
import { ClientCertificateReader, KnownCertificates } from './client-certificate.ts';

test('certificates are cached by their bytes, and the oldest is removed', async () => {
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

test('a certificate that an authority has signed itself is examined once for all connections', async (context) => {
  const checked = context.mock.method(X509Certificate.prototype, 'verify');
  const reader = new ClientCertificateReader(authorities);
  const server = await listen(context, (request) => reader.read(request));
  const jane = await cluster.issue({ commonName: 'jane', organizations: ['dev'], usage: 'client' });
  const namesake = await cluster.issue({ commonName: 'jane', organizations: ['ops'], usage: 'client' });
  await getOverHttp1(server.port, jane);
  const signatures = checked.mock.callCount();
  assert.ok(signatures > 0);
  await getOverHttp2(server.port, jane);
  assert.equal(checked.mock.callCount(), signatures);
  await getOverHttp1(server.port, namesake);
  assert.equal(checked.mock.callCount(), 2 * signatures);
  const organizations = server.seen.map(({ clientCertificate }) => clientCertificate?.organizations);
  assert.deepEqual(organizations, [['dev'], ['dev'], ['ops']]);
});

describe('attack: a certificate that is cached from another connection', () => {
  it('yields no identity if the handshake has not verified it', async (context) => {
    const reader = new ClientCertificateReader(authorities);
    const jane = await cluster.issue({ commonName: 'jane', usage: 'client' });
    const verifying = await listen(context, (request) => reader.read(request));
    await getOverHttp1(verifying.port, jane);
    const other = await createAuthority('other');
    const doubting = await listen(context, (request) => reader.read(request), authorities, {
      ca: other.certificate,
    });
    await getOverHttp1(doubting.port, jane);
    assert.equal(verifying.seen[0]?.clientCertificate?.commonName, 'jane');
    assert.equal(doubting.seen[0]?.clientCertificate, undefined);
    assert.match(doubting.seen[0]?.clientCertificateError ?? '', /verification failed/);
  });

  it('stops counting when it expires', async (context) => {
    let now = Date.now();
    const reader = new ClientCertificateReader(authorities, () => now);
    const server = await listen(context, (request) => reader.read(request));
    const jane = await cluster.issue({ commonName: 'jane', usage: 'client' });
    await getOverHttp1(server.port, jane);
    now += 7 * 86_400_000;
    await getOverHttp1(server.port, jane);
    assert.equal(server.seen[0]?.clientCertificate?.commonName, 'jane');
    assert.match(server.seen[1]?.clientCertificateError ?? '', /expired/);
  });
});
