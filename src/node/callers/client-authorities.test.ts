import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createAuthority } from '../../../test/support/certificates.ts';
import { readClientAuthorities } from './client-certificate.ts';

const cluster = await createAuthority('kubernetes');
const frontProxy = await createAuthority('kubernetes-front-proxy-ca');

it('reads bundles of several certificates, with text between them', async () => {
  const other = await createAuthority('other');
  const clientCa = `# cluster\n${cluster.certificate}\nsubject=other\n${other.certificate}`;
  const authorities = readClientAuthorities({ clientCa, requestHeaderCa: frontProxy.certificate });
  assert.deepEqual(
    authorities.clientCa.map(({ subject }) => subject),
    ['CN=kubernetes', 'CN=other'],
  );
  assert.equal(authorities.requestHeaderCa.length, 1);
});

it('takes a bundle that is not configured for an empty one', () => {
  assert.deepEqual(readClientAuthorities({}), { clientCa: [], requestHeaderCa: [] });
});

it('S10: refuses to start with one authority in both bundles', () => {
  const both = { name: 'CertificatePemError', code: 'SharedAuthority' };
  assert.throws(
    () => readClientAuthorities({ clientCa: cluster.certificate, requestHeaderCa: cluster.certificate }),
    both,
  );
  const mixed = frontProxy.certificate + cluster.certificate;
  assert.throws(() => readClientAuthorities({ clientCa: cluster.certificate, requestHeaderCa: mixed }), {
    ...both,
    message: /"CN=kubernetes" is in both/,
  });
  assert.doesNotThrow(() =>
    readClientAuthorities({ clientCa: cluster.certificate, requestHeaderCa: frontProxy.certificate }),
  );
});

it('S10: a renewed certificate with the same key is the same authority', async () => {
  const renewed = await cluster.renew();
  assert.throws(
    () => readClientAuthorities({ clientCa: cluster.certificate, requestHeaderCa: renewed.certificate }),
    {
      code: 'SharedAuthority',
    },
  );
});

it('two authorities of the same name are two', async () => {
  const namesake = await createAuthority('kubernetes');
  assert.doesNotThrow(() =>
    readClientAuthorities({ clientCa: cluster.certificate, requestHeaderCa: namesake.certificate }),
  );
});

it('names the flag of a bundle without a certificate, or with a broken one', () => {
  assert.throws(() => readClientAuthorities({ clientCa: cluster.privateKey }), {
    code: 'NoCertificate',
    message: /--client-ca-file/,
  });
  const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
  assert.throws(() => readClientAuthorities({ requestHeaderCa: frontProxy.certificate + broken }), {
    code: 'InvalidCertificate',
    message: /certificate 2 of 2 in --requestheader-client-ca-file/,
  });
});
