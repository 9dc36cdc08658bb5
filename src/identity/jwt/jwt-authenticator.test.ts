import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { exportSPKI, importJWK, SignJWT } from 'jose';
import { inboundRequest } from '../../../test/support/inbound-request.ts';
import {
  goodClaims,
  handmadeToken,
  issuerUrl,
  keySetOf,
  tokenPolicy as policy,
  type TokenSigner,
  testNow,
  tokenSigner,
} from '../../../test/support/token-signer.ts';
import type { Caller } from '../../request/user-info.ts';
import { AuthenticationError } from '../incoming/authenticator.ts';
import { JwtAuthenticator } from './jwt-authenticator.ts';
import { fixedKeys } from './key-source.ts';
import { TokenError, type TokenErrorCode } from './token-error.ts';
import { externalIssuer, type TokenPolicy } from './token-issuer.ts';
import { verifySignature } from './verify-signature.ts';

let signer: TokenSigner;
let rsa: TokenSigner;
before(async () => {
  signer = await tokenSigner('key-1', 'ES256');
  rsa = await tokenSigner('rsa-1', 'RS256');
});

async function authenticate(token: string, changes: Partial<TokenPolicy> = {}): Promise<Caller | undefined> {
  const keys = fixedKeys(await keySetOf(signer, rsa));
  const issuers = [externalIssuer(issuerUrl, keys, { ...policy, ...changes })];
  const authenticator = new JwtAuthenticator({ issuers, clock: () => testNow });
  return authenticator.authenticate(inboundRequest(['Authorization', `Bearer ${token}`]));
}

async function assertRefused(
  token: string,
  code: TokenErrorCode,
  changes?: Partial<TokenPolicy>,
): Promise<void> {
  await assert.rejects(authenticate(token, changes), (error: unknown) => {
    assert.ok(error instanceof AuthenticationError, String(error));
    assert.ok(error.cause instanceof TokenError);
    assert.equal(error.cause.code, code);
    assert.ok(!error.message.includes(token), 'the token is not repeated');
    return true;
  });
}

/** The API server is the one to judge. */
async function assertPassesThrough(token: string): Promise<void> {
  assert.equal(await authenticate(token), undefined);
}

describe('a token of a configured issuer', () => {
  it('establishes its bearer', async () => {
    const token = await signer.sign(goodClaims({ groups: ['a', 'b,c'] }));
    assert.deepEqual(await authenticate(token), {
      kind: 'authenticated',
      user: { name: 'oidc:jane', uid: '', groups: ['oidc:a', 'oidc:b,c'], extra: new Map() },
      authenticator: 'jwt',
      viaVerifiedPeer: false,
    });
  });

  it('may name one of several audiences, among others', async () => {
    const token = await rsa.sign(goodClaims({ aud: ['elsewhere', 'kubernetes-two'] }));
    assert.equal((await authenticate(token))?.kind, 'authenticated');
  });

  it('may leave out the key ID: every key of its kind is tried', async () => {
    const token = await signer.sign(goodClaims(), { kid: undefined });
    assert.equal((await authenticate(token))?.kind, 'authenticated');
  });

  it('may begin up to a minute from now, for clocks that differ', async () => {
    const now = testNow / 1000;
    assert.equal(
      (await authenticate(await signer.sign(goodClaims({ nbf: now + 60 }))))?.kind,
      'authenticated',
    );
    await assertRefused(await signer.sign(goodClaims({ nbf: now + 61 })), 'NotYetValid');
  });
});

describe('attacks with a token of a configured issuer', () => {
  it('expired, to the second', async () => {
    const now = testNow / 1000;
    assert.equal(
      (await authenticate(await signer.sign(goodClaims({ exp: now + 1 }))))?.kind,
      'authenticated',
    );
    await assertRefused(await signer.sign(goodClaims({ exp: now })), 'Expired');
  });

  it('issued in the future', async () => {
    await assertRefused(await signer.sign(goodClaims({ iat: testNow / 1000 + 3600 })), 'NotYetValid');
  });

  it('without an expiry, or with one that is no date', async () => {
    await assertRefused(await signer.sign(goodClaims({ exp: undefined })), 'InvalidClaim');
    for (const exp of ['9999999999', null, [9999999999], {}]) {
      await assertRefused(await signer.sign(goodClaims({ exp })), 'InvalidClaim');
    }
  });

  it('for another audience, or for none', async () => {
    for (const aud of ['elsewhere', ['elsewhere'], [], undefined]) {
      await assertRefused(await signer.sign(goodClaims({ aud })), 'WrongAudience');
    }
    for (const aud of [7, null, ['kubernetes', 7], { kubernetes: true }]) {
      await assertRefused(await signer.sign(goodClaims({ aud })), 'InvalidClaim');
    }
  });

  it('with claims that were changed after they were signed', async () => {
    const [header, , signature] = (await signer.sign(goodClaims())).split('.');
    const claims = Buffer.from(JSON.stringify(goodClaims({ sub: 'admin' }))).toString('base64url');
    await assertRefused(`${header}.${claims}.${signature}`, 'InvalidSignature');
  });

  it('signed by another key under the key ID of a known one', async () => {
    const forger = await tokenSigner('key-1', 'ES256');
    await assertRefused(await forger.sign(goodClaims()), 'InvalidSignature');
    await assertRefused(await forger.sign(goodClaims(), { kid: undefined }), 'InvalidSignature');
  });

  it('with the key to check it with in its own header', async () => {
    const forger = await tokenSigner('key-1', 'ES256');
    const header = { jwk: forger.publicJwk, jku: 'https://attacker.example/keys' };
    await assertRefused(await forger.sign(goodClaims(), header), 'InvalidSignature');
  });

  it('unsigned, under every spelling of none', async () => {
    for (const alg of ['none', 'None', 'NONE', 'nOnE']) {
      await assertRefused(handmadeToken({ alg, kid: 'key-1' }, goodClaims()), 'ForbiddenAlgorithm');
      await assertRefused(handmadeToken({ alg }, goodClaims(), 'c2ln'), 'ForbiddenAlgorithm');
    }
  });

  it('HMAC with the public key as its secret', async () => {
    const { n = '' } = rsa.publicJwk;
    for (const secret of [await spkiOf(rsa), n, JSON.stringify(rsa.publicJwk)]) {
      const token = await new SignJWT(goodClaims())
        .setProtectedHeader({ alg: 'HS256', kid: 'rsa-1' })
        .sign(new TextEncoder().encode(secret));
      await assertRefused(token, 'ForbiddenAlgorithm');
    }
  });

  it('with an algorithm that the named key is not for', async () => {
    const [, claims, signature] = (await signer.sign(goodClaims())).split('.');
    for (const alg of ['RS256', 'ES384', 'EdDSA']) {
      const header = Buffer.from(JSON.stringify({ alg, kid: 'key-1' })).toString('base64url');
      await assertRefused(`${header}.${claims}.${signature}`, 'ForbiddenAlgorithm');
    }
    // The key says RS256: PS256 is another algorithm, though the key could do it.
    const header = Buffer.from(JSON.stringify({ alg: 'PS256', kid: 'rsa-1' })).toString('base64url');
    await assertRefused(`${header}.${claims}.${signature}`, 'ForbiddenAlgorithm');
  });

  it('with critical header parameters', async () => {
    for (const crit of [['exp'], ['b64'], [], 'exp']) {
      const header = { alg: 'ES256', kid: 'key-1', crit, exp: 1, b64: true };
      await assertRefused(handmadeToken(header, goodClaims(), 'c2ln'), 'CriticalHeader');
    }
  });

  it('with a header that is none', async () => {
    for (const header of [7, [], { alg: 7 }, {}, { alg: 'ES256', kid: 7 }, null]) {
      await assertRefused(handmadeToken(header, goodClaims(), 'c2ln'), 'MalformedToken');
    }
    const token = await signer.sign(goodClaims());
    await assertRefused(`AAAA${token.slice(token.indexOf('.'))}`, 'MalformedToken');
  });

  it('without the value that the operator requires', async () => {
    const requiredClaims = new Map([['tenant', 'one']]);
    assert.equal(
      (await authenticate(await signer.sign(goodClaims({ tenant: 'one' })), { requiredClaims }))?.kind,
      'authenticated',
    );
    for (const tenant of ['two', '', 1, true, ['one'], null, undefined]) {
      await assertRefused(await signer.sign(goodClaims({ tenant })), 'RequiredClaimMismatch', {
        requiredClaims,
      });
    }
  });

  it('with claims that are no object, though they are signed', async () => {
    const keys = fixedKeys(await keySetOf(signer));
    for (const claims of [[], 'text', 7, null]) {
      // Such a token names no issuer, so it is never read by the authenticator; the verifier must not rely on that.
      await assert.rejects(verifySignature(await signer.sign(claims), keys), { code: 'MalformedToken' });
    }
  });

  it('without a claim that every object inherits', async () => {
    const requiredClaims = new Map([['constructor', 'one']]);
    await assertRefused(await signer.sign(goodClaims()), 'RequiredClaimMismatch', { requiredClaims });
  });
});

describe('a token that cannot be judged here', () => {
  it('passes through when its issuer is not configured, or only nearly', async () => {
    for (const iss of [
      'https://other.example',
      `${issuerUrl}/`,
      issuerUrl.toUpperCase(),
      '',
      7,
      [issuerUrl],
      undefined,
    ]) {
      await assertPassesThrough(await signer.sign(goodClaims({ iss })));
    }
    for (const iss of ['__proto__', 'constructor', 'toString']) {
      await assertPassesThrough(await signer.sign(goodClaims({ iss })));
    }
  });

  it('passes through when it is no JWT', async () => {
    for (const token of [
      'opaque',
      '31ada4fd-adec-460c-809a-9e56ceb75269',
      'a.b.c',
      'a.b.c.d.e',
      '...',
      'eyJ.eyJ.',
    ]) {
      await assertPassesThrough(token);
    }
  });

  it('passes through when its key is not among those of its issuer', async () => {
    await assertPassesThrough(await (await tokenSigner('key-2')).sign(goodClaims()));
  });

  it('passes through when its algorithm is one that others may know', async () => {
    await assertPassesThrough(handmadeToken({ alg: 'ML-DSA-65', kid: 'key-1' }, goodClaims(), 'c2ln'));
    await assertPassesThrough(handmadeToken({ alg: 'ES256K', kid: 'key-1' }, goodClaims(), 'c2ln'));
  });

  it('passes through unread when it is huge', async () => {
    const token = await signer.sign(goodClaims({ padding: 'x'.repeat(1024 * 1024) }));
    assert.ok(token.length > 1024 * 1024);
    await assertPassesThrough(token);
  });

  it('passes through when it names a user or group of Kubernetes itself', async () => {
    const unprefixed = {
      ...policy.mappings,
      username: { path: ['sub'], prefix: '', required: true },
      groups: { path: ['groups'], prefix: '', required: false },
    };
    for (const claims of [{ sub: 'system:admin' }, { groups: ['users', 'system:masters'] }]) {
      assert.equal(
        await authenticate(await signer.sign(goodClaims(claims)), { mappings: unprefixed }),
        undefined,
      );
    }
  });
});

async function spkiOf({ publicJwk }: TokenSigner): Promise<string> {
  const key = await importJWK(publicJwk, 'RS256', { extractable: true });
  assert.ok(!(key instanceof Uint8Array));
  return exportSPKI(key);
}
