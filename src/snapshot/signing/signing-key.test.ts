import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compactVerify, importJWK } from 'jose';
import { generateSigningKey, loadSigningKey, signPayload } from './seal.ts';

const edwards = await generateSigningKey('EdDSA');
const ecdsa = await generateSigningKey('ES256');

test('a loaded key signs', async () => {
  for (const { privateJwk, publicJwk } of [edwards, ecdsa]) {
    const key = await loadSigningKey(JSON.stringify(privateJwk));
    const jws = await signPayload('hello', 'test', key);
    const { payload } = await compactVerify(jws, await importJWK(publicJwk));
    assert.equal(new TextDecoder().decode(payload), 'hello');
  }
});

for (const [what, jwk, issue] of [
  ['a public key', edwards.publicJwk, /public half/],
  ['a key without a kid', { ...edwards.privateJwk, kid: undefined }, /kid/],
  ['a key of another kind', { kty: 'oct', k: 'c2VjcmV0', kid: 'x', alg: 'HS256' }, /algs EdDSA, ES256/],
  ['a key whose alg is not its own', { ...edwards.privateJwk, alg: 'ES256' }, /unusable: keys\[0\]\.alg/],
  ['halves of two keys', { ...ecdsa.privateJwk, d: edwards.privateJwk.d }, /does not fit/],
  [
    'halves of two Edwards keys',
    { ...edwards.privateJwk, x: (await generateSigningKey('EdDSA')).publicJwk.x },
    /does not fit/,
  ],
  ['a private half that is no number', { ...ecdsa.privateJwk, d: 'secret!' }, /does not fit/],
] as const) {
  test(`${what} is refused, and nothing of it is repeated`, async () => {
    await assert.rejects(loadSigningKey(JSON.stringify(jwk)), (error) => {
      assert.ok(error instanceof TypeError);
      assert.match(error.message, issue);
      assert.doesNotMatch(error.message, /secret!|c2VjcmV0/);
      return true;
    });
  });
}

test('text that is no JWK is refused without being repeated', async () => {
  for (const text of ['hunter2', '[]', 'null', '{"d":']) {
    await assert.rejects(loadSigningKey(text), {
      name: 'TypeError',
      message: 'The signing key must be a JWK, as JSON.',
    });
  }
});
