import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { janesRequest, pinned, signedAt, speaker } from '../../../test/support/assertions.ts';
import type { UserInfo } from '../../request/user-info.ts';
import { AssertionTooLargeError } from './assertion-signer.ts';
import { createAssertionSigner } from './sign-assertion.ts';
import { PeerAssertionAuthenticator } from './verify-assertion.ts';

const routerA = await speaker('cp-a');
const keys = await pinned(routerA);
const signer = createAssertionSigner({ key: routerA.key, issuer: 'cp-a', clock: () => signedAt + 999 });

test('an assertion is bound to its request, lives for 30 seconds and says what it is', async () => {
  const text = await signer.sign(janesRequest);
  assert.deepEqual(decodeProtectedHeader(text), {
    alg: 'EdDSA',
    kid: routerA.kid,
    typ: 'mixed-version-proxy-identity+jwt',
  });
  const { jti, ...claims } = decodeJwt(text);
  assert.match(String(jti), /^[\w-]{22}$/);
  assert.deepEqual(claims, {
    iss: 'cp-a',
    aud: 'cp-b',
    iat: signedAt / 1000,
    nbf: signedAt / 1000,
    exp: signedAt / 1000 + 30,
    method: 'GET',
    path: '/apis/batch/v1/namespaces/default/jobs?limit=500',
    rerouted: true,
    user: {
      name: 'jane@example.com',
      uid: '42',
      groups: ['developers', 'system:authenticated'],
      extra: { 'example.org/floor': ['3', '4'] },
    },
  });
});

test('no nonce comes twice', async () => {
  const tokens = await Promise.all(Array.from({ length: 200 }, () => signer.sign(janesRequest)));
  assert.equal(new Set(tokens.map((text) => decodeJwt(text).jti)).size, 200);
});

test('any identity arrives as it was, Unicode, commas, order, duplicates and empty values included', async () => {
  const text = fc.string({ unit: 'grapheme' });
  const user: fc.Arbitrary<UserInfo> = fc.record({
    name: fc.string({ unit: 'grapheme', minLength: 1 }),
    uid: text,
    groups: fc.array(fc.oneof(text, fc.constant('a, b'), fc.constant('Ärzte,Köln'))),
    extra: fc.array(fc.tuple(text, fc.array(text))).map((entries) => new Map(entries)),
  });
  const verifier = new PeerAssertionAuthenticator({
    keys: () => keys,
    audience: 'cp-b',
    clock: () => signedAt,
  });
  await fc.assert(
    fc.asyncProperty(user, async (sent) => {
      const request = { ...janesRequest, user: sent };
      const { user: arrived } = await verifier.verify(await signer.sign(request), request);
      const sorted = ({ extra, ...rest }: UserInfo) => ({ ...rest, extra: [...extra].sort() });
      assert.deepEqual(sorted(arrived), sorted(sent));
    }),
    { numRuns: 50 },
  );
});

test('a user in a thousand groups fits, and what does not fit into a header line is refused, not cut', async () => {
  const inGroups = (count: number) => ({
    ...janesRequest,
    user: {
      ...janesRequest.user,
      groups: Array.from({ length: count }, (_, index) => `company:department-${index}:developers`),
    },
  });
  assert.ok((await signer.sign(inGroups(1_000))).length > 40_000);
  await assert.rejects(signer.sign(inGroups(2_000)), AssertionTooLargeError);
});
