import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { jane, janesRequest, signedAt, speaker } from '../../../test/support/assertions.ts';
import { createOidcTokenSigner } from './sign-oidc-token.ts';

const router = await speaker('https://router.example', 'ES256');
const options = {
  key: router.key,
  issuer: 'https://router.example',
  audience: 'kubernetes',
  clock: () => signedAt,
};

test('a token names the user in claims that an API server can map, and lives for a minute', async () => {
  const { kind, text } = await createOidcTokenSigner(options).sign(janesRequest);
  assert.equal(kind, 'oidc-token');
  assert.deepEqual(decodeProtectedHeader(text), { alg: 'ES256', kid: router.kid, typ: 'JWT' });
  const { jti, ...claims } = decodeJwt(text);
  assert.match(String(jti), /^[\w-]{22}$/);
  assert.deepEqual(claims, {
    iss: 'https://router.example',
    aud: 'kubernetes',
    sub: 'jane@example.com',
    uid: '42',
    groups: ['developers', 'system:authenticated'],
    extra: { 'example.org/floor': ['3', '4'] },
    iat: signedAt / 1000,
    nbf: signedAt / 1000,
    exp: signedAt / 1000 + 60,
  });
});

test('every claim is there for a user without any of it: API servers refuse tokens that lack a mapped claim', async () => {
  const user = { ...jane, uid: '', groups: [], extra: new Map<string, readonly string[]>() };
  const { text } = await createOidcTokenSigner(options).sign({ ...janesRequest, user });
  const { uid, groups, extra } = decodeJwt(text);
  assert.deepEqual({ uid, groups, extra }, { uid: '', groups: [], extra: {} });
});

test('a key that kube-apiserver would not accept is refused at once', async () => {
  const { key } = await speaker('https://router.example', 'EdDSA');
  assert.throws(() => createOidcTokenSigner({ ...options, key }), /must be signed with ES256/);
});
