import { CompactSign, type CryptoKey, exportJWK, generateKeyPair, type JWK } from 'jose';
import { type KeySet, parseKeySet, type SignatureAlgorithm } from '../../src/identity/jwt/key-set.ts';
import type { TokenPolicy } from '../../src/identity/jwt/token-issuer.ts';

export const issuerUrl = 'https://issuer.example';

/** Noon of a day: the clock of the tests stands here unless it is moved. */
export const testNow = Date.UTC(2026, 0, 31, 12);

/** What `goodClaims` satisfies; names get `oidc:` in front. */
export const tokenPolicy: TokenPolicy = {
  audiences: ['kubernetes', 'kubernetes-two'],
  requiredClaims: new Map(),
  mappings: {
    username: { path: ['sub'], prefix: 'oidc:', required: true },
    groups: { path: ['groups'], prefix: 'oidc:', required: false },
    uid: undefined,
    extra: [],
  },
};

/** A key of an issuer that exists only in a test. */
export interface TokenSigner {
  readonly publicJwk: JWK;
  readonly privateKey: CryptoKey;
  /** `claims` as they are, under a header that `header` changes; `undefined` leaves a member out. */
  sign(claims: unknown, header?: Readonly<Record<string, unknown>>): Promise<string>;
}

export async function tokenSigner(kid = 'key-1', alg: SignatureAlgorithm = 'ES256'): Promise<TokenSigner> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  return {
    publicJwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' },
    privateKey,
    sign: (claims, header = {}) => {
      const protectedHeader: Record<string, unknown> = { alg, kid, ...header };
      if (protectedHeader['kid'] === undefined) delete protectedHeader['kid'];
      return new CompactSign(new TextEncoder().encode(JSON.stringify(claims)))
        .setProtectedHeader({ ...protectedHeader, alg: String(protectedHeader['alg']) })
        .sign(privateKey);
    },
  };
}

/** Claims with which nothing is wrong at `testNow`. */
export function goodClaims(changes: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  const now = testNow / 1000;
  return { iss: issuerUrl, aud: 'kubernetes', sub: 'jane', iat: now - 60, exp: now + 3600, ...changes };
}

/** A token by hand, for headers that no signer would write. */
export function handmadeToken(header: unknown, claims: unknown, signature = ''): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part(header)}.${part(claims)}.${signature}`;
}

/** The keys of these signers, as an issuer publishes them. */
export async function keySetOf(...signers: readonly TokenSigner[]): Promise<KeySet> {
  const { keys } = await parseKeySet({ keys: signers.map(({ publicJwk }) => publicJwk) });
  return keys;
}
