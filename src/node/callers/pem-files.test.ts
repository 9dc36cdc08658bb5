import assert from 'node:assert/strict';
import { createHash, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { createAuthority } from '../../../test/support/certificates.ts';
import { parsePublicKeyFile } from './pem-files.ts';

const rsa = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'pkcs1', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});
const ec = generateKeyPairSync('ec', {
  namedCurve: 'P-256',
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'sec1', format: 'pem' },
});

function keyId(pem: string): string {
  const der = createPublicKey(pem).export({ type: 'spki', format: 'der' });
  return createHash('sha256').update(der).digest('base64url');
}

describe('a file of public keys', () => {
  it('may hold PEM keys of several kinds, and certificates', async () => {
    const { certificate } = await createAuthority('ca');
    const { keys, issues } = await parsePublicKeyFile(
      `a comment\n${rsa.publicKey}\n${ec.publicKey}${certificate}`,
    );
    assert.deepEqual(issues, []);
    assert.deepEqual(
      keys.map(({ kid }) => kid),
      [rsa.publicKey, ec.publicKey, certificate].map(keyId),
    );
  });

  it('may be a JSON Web Key Set', async () => {
    const jwk = { ...createPublicKey(ec.publicKey).export({ format: 'jwk' }), kid: 'one' };
    const { keys } = await parsePublicKeyFile(` ${JSON.stringify({ keys: [jwk] })}`);
    assert.deepEqual(
      keys.map(({ kid }) => kid),
      ['one'],
    );
  });

  it('is refused with a private key in it, which is not repeated', async () => {
    for (const pem of [rsa.privateKey, ec.privateKey]) {
      const { issues } = await parsePublicKeyFile(rsa.publicKey + pem);
      assert.match(issues[0]?.message ?? '', /^must not be here: this is a private key/);
      assert.equal(issues[0]?.path, 'PEM block 2');
      assert.ok(!JSON.stringify(issues).includes(pem.split('\n')[1] ?? 'none'));
    }
  });

  it('is refused with anything else in it', async () => {
    for (const text of [
      '',
      'hunter2',
      '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n',
      '{"hunter2',
      '{}',
    ]) {
      const { keys, issues } = await parsePublicKeyFile(text);
      assert.equal(keys.length, 0);
      assert.ok(issues.length > 0);
      assert.doesNotMatch(JSON.stringify(issues), /hunter2/);
    }
  });
});
