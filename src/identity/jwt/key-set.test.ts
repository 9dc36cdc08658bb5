import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { exportJWK, generateKeyPair } from 'jose';
import { tokenSigner } from '../../../test/support/token-signer.ts';
import { parseKeySet } from './key-set.ts';

const { publicJwk, privateKey } = await tokenSigner();
const rsa = (await tokenSigner('rsa', 'RS256')).publicJwk;

async function issuesOf(...keys: readonly unknown[]): Promise<string[]> {
  const { issues } = await parseKeySet({ keys });
  return issues.map(({ path, message }) => `${path}: ${message}`);
}

describe('a JSON Web Key Set', () => {
  it('gives its keys, each for what it can be used with', async () => {
    const { alg: _, ...anyAlgorithm } = rsa;
    const ed25519 = await exportJWK((await generateKeyPair('EdDSA')).publicKey);
    const { keys, issues } = await parseKeySet({ keys: [publicJwk, rsa, anyAlgorithm, ed25519] });
    assert.deepEqual(issues, []);
    assert.deepEqual(
      keys.map(({ kid, algorithms }) => [kid, algorithms]),
      [
        ['key-1', ['ES256']],
        ['rsa', ['RS256']],
        ['rsa', ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']],
        [undefined, ['EdDSA', 'Ed25519']],
      ],
    );
  });

  it('may hold keys for other purposes, which are not used', async () => {
    const { keys, issues } = await parseKeySet({
      keys: [publicJwk, { ...rsa, use: 'enc' }, { ...rsa, use: undefined, key_ops: ['encrypt'] }],
    });
    assert.deepEqual([keys.length, issues], [1, []]);
  });

  it('must hold a key for signatures', async () => {
    assert.deepEqual(await issuesOf(), ['keys: must hold a key for signatures']);
    assert.deepEqual(await issuesOf({ ...rsa, use: 'enc' }), ['keys: must hold a key for signatures']);
  });

  it('is refused as a private or secret key, which is not repeated', async () => {
    const secret = await exportJWK(privateKey);
    const [issue = ''] = await issuesOf({ ...secret, kid: 'key-1' });
    assert.match(issue, /^keys\[0\]\.d: must not be here: this is a private/);
    assert.ok(!issue.includes(secret.d ?? 'none'));
    assert.match((await issuesOf({ kty: 'oct', k: 'c2VjcmV0' })).join(), /^keys\[0\]\.k: must not be here/);
  });

  it('names every invalid key, and uses the others', async () => {
    const { keys, issues } = await parseKeySet({
      keys: [
        7,
        { ...publicJwk, kid: 7 },
        { ...publicJwk, alg: 'RS256' },
        { ...publicJwk, x: 'AA' },
        { kty: 'RSA', n: 'AQAB'.repeat(64), e: 'AQAB' },
        { kty: 'AKP', alg: 'ML-DSA-65', pub: 'AA' },
        publicJwk,
      ],
    });
    assert.equal(keys.length, 1);
    assert.deepEqual(
      issues.map(({ path }) => path),
      ['keys[0]', 'keys[1].kid', 'keys[2].alg', 'keys[3]', 'keys[4].n', 'keys[5]'],
    );
  });

  it('of another shape is refused', async () => {
    for (const document of [undefined, null, [], 'text', {}, { keys: {} }, { keys: 'text' }]) {
      assert.deepEqual((await parseKeySet(document)).keys, []);
      assert.equal((await parseKeySet(document)).issues.length, 1);
    }
    const many = { keys: new Array(101).fill(publicJwk) };
    assert.match((await parseKeySet(many)).issues[0]?.message ?? '', /at most 100/);
  });
});
