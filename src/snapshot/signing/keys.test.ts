import assert from 'node:assert/strict';
import { test } from 'node:test';
import { calculateJwkThumbprint } from 'jose';
import { snapshotOf } from '../../../test/support/snapshots/snapshot-builder.ts';
import { parseSnapshotKeys } from './keys.ts';
import { openSnapshot } from './open-sealed.ts';
import { generateSigningKey, sealSnapshot, signingKeyOf } from './seal.ts';

const edwards = await generateSigningKey('EdDSA');
const ecdsa = await generateSigningKey('ES256');

async function issues(value: unknown): Promise<string[]> {
  const result = await parseSnapshotKeys(typeof value === 'string' ? value : JSON.stringify(value));
  return result.ok ? [] : result.issues.map(({ path, message }) => `${path}: ${message}`);
}

test('a generated key pair carries its RFC 7638 thumbprint, and only the private half is private', async () => {
  for (const { kid, publicJwk, privateJwk } of [edwards, ecdsa]) {
    assert.equal(kid, await calculateJwkThumbprint(publicJwk, 'sha256'));
    assert.equal(publicJwk.kid, kid);
    assert.equal(privateJwk.kid, kid);
    assert.equal(publicJwk.d, undefined);
    assert.equal(typeof privateJwk.d, 'string');
  }
});

test('during a rotation both keys count, and afterwards only the new one', async () => {
  const both = await parseSnapshotKeys(JSON.stringify({ keys: [edwards.publicJwk, ecdsa.publicJwk] }));
  const after = await parseSnapshotKeys(JSON.stringify({ keys: [ecdsa.publicJwk] }));
  assert.ok(both.ok && after.ok);
  const snapshot = snapshotOf({ a: ['v1/pods'] });
  const byOld = await sealSnapshot(snapshot, signingKeyOf(edwards.privateJwk));
  const byNew = await sealSnapshot(snapshot, signingKeyOf(ecdsa.privateJwk));
  assert.equal((await openSnapshot(byOld, both.keys)).kid, edwards.kid);
  assert.equal((await openSnapshot(byNew, both.keys)).kid, ecdsa.kid);
  assert.equal((await openSnapshot(byNew, after.keys)).kid, ecdsa.kid);
  await assert.rejects(openSnapshot(byOld, after.keys), { code: 'UnknownKey' });
});

test('a private or secret key in the file is refused', async () => {
  assert.match((await issues({ keys: [edwards.privateJwk] }))[0] ?? '', /^keys\[0\]\.d: must not be here/);
  const secret = { kty: 'oct', k: 'c2VjcmV0', kid: 'shared', alg: 'HS256' };
  assert.match((await issues({ keys: [secret] }))[0] ?? '', /^keys\[0\]\.k: must not be here/);
});

for (const [name, value, issue] of [
  ['no JSON', 'keys', /^: is not JSON/],
  ['no key set', edwards.publicJwk, /^: must be a JSON Web Key Set/],
  ['no key', { keys: [] }, /^keys: must hold between 1 and 32 keys/],
  ['too many keys', { keys: Array(33).fill({}) }, /^keys: must hold between 1 and 32 keys/],
  ['a key that is no object', { keys: ['x'] }, /^keys\[0\]: must be an object/],
  ['a key twice', { keys: [edwards.publicJwk, edwards.publicJwk] }, /^keys\[1\]\.kid: must be unique/],
  ['a key without kid', { keys: [{ ...edwards.publicJwk, kid: undefined }] }, /^keys\[0\]\.kid: must be/],
  ['an RSA key', { keys: [{ kty: 'RSA', n: 'AQAB', e: 'AQAB', kid: 'r' }] }, /^keys\[0\]\.kty: must be OKP/],
  ['another curve', { keys: [{ ...ecdsa.publicJwk, crv: 'P-384' }] }, /^keys\[0\]\.kty: must be OKP/],
  ['another algorithm', { keys: [{ ...edwards.publicJwk, alg: 'ES256' }] }, /^keys\[0\]\.alg: must be EdDSA/],
  ['a key for encryption', { keys: [{ ...edwards.publicJwk, use: 'enc' }] }, /^keys\[0\]\.use: must be sig/],
  [
    'other operations',
    { keys: [{ ...edwards.publicJwk, key_ops: ['sign'] }] },
    /^keys\[0\]\.key_ops: must include/,
  ],
  ['a short key', { keys: [{ ...edwards.publicJwk, x: 'AAAA' }] }, /^keys\[0\]: must be a valid public key/],
  [
    'a point off the curve',
    { keys: [{ ...ecdsa.publicJwk, y: ecdsa.publicJwk.x }] },
    /^keys\[0\]: must be a valid/,
  ],
  ['a huge file', ' '.repeat(100_000), /^: is longer than/],
] as const) {
  test(`a key file is refused with the error named: ${name}`, async () => {
    const found = await issues(value);
    assert.ok(
      found.some((text) => issue.test(text)),
      found.join(),
    );
  });
}

test('every error of a key file is named at once', async () => {
  const found = await issues({
    keys: [
      { ...edwards.privateJwk, kid: '' },
      { kty: 'RSA', kid: 'r' },
    ],
  });
  assert.deepEqual(
    found.map((text) => text.split(':')[0]),
    ['keys[0].d', 'keys[0].kid', 'keys[1].kty'],
  );
});

test('what cannot sign is no signing key', () => {
  assert.throws(() => signingKeyOf(edwards.publicJwk), /public half/);
  assert.throws(() => signingKeyOf({ ...edwards.privateJwk, alg: 'HS256' }), /EdDSA, ES256/);
  const { kid: _, ...nameless } = edwards.privateJwk;
  assert.throws(() => signingKeyOf(nameless), /kid/);
});
