import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { base64url, CompactSign } from 'jose';
import {
  claims,
  jane,
  janesRequest,
  pinned,
  signClaims,
  signedAt,
  speaker,
} from '../../../test/support/assertions.ts';
import { snapshotOf } from '../../../test/support/snapshot-builder.ts';
import { openSnapshot } from '../../snapshot/signing/open-sealed.ts';
import { sealSnapshot } from '../../snapshot/signing/seal.ts';
import { createAssertionSigner } from './sign-assertion.ts';
import {
  AssertionVerifier,
  type AssertionVerifierOptions,
  type PeerAssertionErrorCode,
} from './verify-assertion.ts';

const routerA = await speaker('cp-a');
const routerC = await speaker('cp-c', 'ES256');
const stranger = await speaker('cp-a');
const keys = await pinned(routerA, routerC);

const verifier = (options: Partial<AssertionVerifierOptions> = {}): AssertionVerifier =>
  new AssertionVerifier({ keys: () => keys, audience: 'cp-b', clock: () => signedAt, ...options });

const signer = (key = routerA.key, issuer = 'cp-a') =>
  createAssertionSigner({ key, issuer, clock: () => signedAt });

async function refuses(
  code: PeerAssertionErrorCode,
  assertion: string,
  {
    request = janesRequest,
    ...options
  }: Partial<AssertionVerifierOptions> & { request?: typeof janesRequest } = {},
): Promise<Error> {
  let refusal: unknown;
  await assert.rejects(verifier(options).verify(assertion, request), (error) => {
    refusal = error;
    return true;
  });
  assert.ok(refusal instanceof Error && 'code' in refusal, String(refusal));
  assert.equal(refusal.code, code, refusal.message);
  return refusal;
}

describe('an assertion', () => {
  it('is believed once, with everything it says about the user', async () => {
    const text = await signer().sign(janesRequest);
    const believed = await verifier().verify(text, janesRequest);
    assert.deepEqual(believed, { user: jane, issuer: 'cp-a', kid: routerA.kid });
  });

  it('is believed in ES256 too', async () => {
    const text = await signer(routerC.key, 'cp-c').sign(janesRequest);
    assert.equal((await verifier().verify(text, janesRequest)).issuer, 'cp-c');
  });

  it('is believed with names that are members of every object', async () => {
    const extra = new Map(['__proto__', 'constructor', 'toString', '2', '1'].map((key) => [key, [key]]));
    const user = { ...jane, extra };
    const text = await signer().sign({ ...janesRequest, user });
    const believed = await verifier().verify(text, janesRequest);
    assert.deepEqual(new Map([...believed.user.extra].sort()), new Map([...extra].sort()));
  });

  it('is refused when another key signed it under the kid of a pinned one', async () => {
    const forged = await signClaims(claims(), stranger, { kid: routerA.kid });
    await refuses('BadSignature', forged);
  });

  it('is refused when its key is not pinned', async () => {
    await refuses('UnknownKey', await signClaims(claims(), stranger));
    await refuses('UnknownKey', await signClaims(claims(), routerA), { keys: () => new Map() });
  });

  it('is refused when its key speaks for another issuer', async () => {
    await refuses('WrongIssuer', await signClaims(claims({ iss: 'cp-a' }), routerC));
  });

  it('is refused by every other destination', async () => {
    const text = await signer().sign(janesRequest);
    await refuses('WrongAudience', text, { audience: 'cp-c' });
    await refuses('WrongAudience', text, { audience: 'cp-B' });
    await refuses('Malformed', await signClaims(claims({ aud: ['cp-b'] }), routerA));
  });

  it('is judged by the ID that the destination has at that moment', async () => {
    let audience = 'endpoint-10-0-0-1-6444';
    const renamed = new AssertionVerifier({
      keys: () => keys,
      get audience() {
        return audience;
      },
      clock: () => signedAt,
    });
    const text = await signer().sign(janesRequest);
    await assert.rejects(renamed.verify(text, janesRequest), { code: 'WrongAudience' });
    audience = 'cp-b';
    assert.equal((await renamed.verify(text, janesRequest)).issuer, 'cp-a');
    audience = 'cp-c';
    const next = await signer().sign(janesRequest);
    await assert.rejects(renamed.verify(next, janesRequest), { code: 'WrongAudience' });
  });

  it('is refused for another method, path or query', async () => {
    const text = await signer().sign(janesRequest);
    for (const request of [
      { ...janesRequest, method: 'DELETE' },
      { ...janesRequest, method: 'get' },
      { ...janesRequest, target: '/api/v1/namespaces/kube-system/secrets' },
      { ...janesRequest, target: `${janesRequest.target}&watch=1` },
      { ...janesRequest, target: janesRequest.target.replace('default', 'defaul%74') },
    ]) {
      await refuses('RequestMismatch', text, { request });
    }
  });

  it('is refused when the reroute mark was taken off the request, or put on it', async () => {
    const marked = await signer().sign(janesRequest);
    await refuses('RequestMismatch', marked, { request: { ...janesRequest, rerouted: false } });
    const unmarked = await signer().sign({ ...janesRequest, rerouted: false });
    await refuses('RequestMismatch', unmarked);
  });

  it('is refused once it has expired, five seconds of clock difference granted', async () => {
    const text = await signer().sign(janesRequest);
    await refuses('Expired', text, { clock: () => signedAt + 35_000 });
    await verifier({ clock: () => signedAt + 34_999 }).verify(text, janesRequest);
  });

  it('is refused before its time, five seconds of clock difference granted', async () => {
    const text = await signer().sign(janesRequest);
    await refuses('NotYetValid', text, { clock: () => signedAt - 6_000 });
    await verifier({ clock: () => signedAt - 5_000 }).verify(text, janesRequest);
    await refuses('NotYetValid', await signClaims(claims({ nbf: signedAt / 1000 + 10 }), routerA));
  });

  it('is refused when it is valid for longer than a minute, however fresh', async () => {
    await refuses('LifetimeTooLong', await signClaims(claims({ exp: signedAt / 1000 + 61 }), routerA));
    await verifier().verify(await signClaims(claims({ exp: signedAt / 1000 + 60 }), routerA), janesRequest);
    assert.throws(
      () => createAssertionSigner({ key: routerA.key, issuer: 'cp-a', lifetimeSeconds: 61 }),
      RangeError,
    );
  });

  it('is refused without a signature, and with one by a shared secret', async () => {
    const header = base64url.encode(
      JSON.stringify({ alg: 'none', kid: routerA.kid, typ: 'mixed-version-proxy-identity+jwt' }),
    );
    const payload = base64url.encode(JSON.stringify(claims()));
    for (const unsigned of [
      `${header}.${payload}.`,
      `${header}.${payload}.AAAA`,
      `${header}.${payload}`,
      '',
      '..',
    ]) {
      await refuses('Malformed', unsigned);
    }
    // The public key as the secret of an HMAC: what a verifier that trusts the header's alg falls for.
    const secret = new TextEncoder().encode(JSON.stringify(routerA.publicJwk));
    const hmac = await new CompactSign(new TextEncoder().encode(JSON.stringify(claims())))
      .setProtectedHeader({ alg: 'HS256', kid: routerA.kid, typ: 'mixed-version-proxy-identity+jwt' })
      .sign(secret);
    await refuses('BadSignature', hmac);
  });

  it('is refused when a key that it brings along signed it', async () => {
    const forged = await signClaims(claims(), stranger, { kid: routerA.kid, jwk: stranger.publicJwk });
    await refuses('BadSignature', forged);
  });

  it('is refused when it is longer than any of ours, before anything is read from it', async () => {
    await refuses('Malformed', 'a'.repeat(60_001));
  });

  for (const [what, changes] of [
    ['without a nonce', { jti: undefined }],
    ['with a nonce that could be guessed', { jti: 'short' }],
    ['with a nonce too long to be remembered', { jti: 'A'.repeat(65) }],
    ['without a method', { method: undefined }],
    ['without a path', { path: undefined }],
    ['without the reroute claim', { rerouted: undefined }],
    ['without an end', { exp: undefined }],
    ['with an end that is no whole number', { exp: 1.5 }],
    ['with an end that is text', { exp: '99999999999' }],
    ['without a user', { user: undefined }],
    ['with an empty user name', { user: { name: '', uid: '', groups: [], extra: {} } }],
    ['with groups that are one text', { user: { name: 'jane', uid: '', groups: 'a,b', extra: {} } }],
    [
      'with an extra value that is no list',
      { user: { name: 'jane', uid: '', groups: [], extra: { a: 'b' } } },
    ],
    ['with a claim that nobody here understands', { scope: 'read-only' }],
  ] as const) {
    it(`is refused ${what}`, async () => {
      await refuses('Malformed', await signClaims(claims(changes), routerA));
    });
  }

  it('is refused when its payload is no JSON object', async () => {
    for (const payload of ['', 'null', '[]', '{', '[[[[[[[[]]]]]]]]']) {
      await refuses('Malformed', await signClaims(payload, routerA));
    }
  });
});

describe('a signed thing of another kind', () => {
  it('does not pass for an assertion: a snapshot, any other JWT', async () => {
    await refuses('BadSignature', await sealSnapshot(snapshotOf({ a: ['v1/pods'] }), routerA.key));
    for (const typ of ['JWT', 'mixed-version-proxy-identity+JWT', undefined]) {
      await refuses('BadSignature', await signClaims(claims(), routerA, { typ }));
    }
  });

  it('is not what an assertion passes for: it is no snapshot', async () => {
    const text = await signer().sign(janesRequest);
    await assert.rejects(openSnapshot(text, keys), { code: 'BadSignature' });
  });
});

describe('a refusal', () => {
  it('says what class is wrong and repeats nothing of the assertion', async () => {
    const expected = await refuses('WrongAudience', await signClaims(claims({ aud: 'cp-secret' }), routerA));
    assert.equal(expected.message, 'the peer assertion is meant for another destination');
    const mismatch = await refuses('RequestMismatch', await signClaims(claims({ path: '/secret' }), routerA));
    assert.doesNotMatch(mismatch.message, /secret|jobs/);
  });
});
