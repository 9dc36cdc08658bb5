import { CompactSign, type CryptoKey, exportJWK, generateKeyPair, type JWK } from 'jose';

/** A key of an issuer that exists only in a test. */
export interface TokenSigner {
  readonly publicJwk: JWK;
  readonly privateKey: CryptoKey;
  /** `claims` as they are, under a header that `header` changes; `undefined` leaves a member out. */
  sign(claims: unknown, header?: Readonly<Record<string, unknown>>): Promise<string>;
}

export async function tokenSigner(kid = 'key-1', alg = 'ES256'): Promise<TokenSigner> {
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

/** A token by hand, for headers that no signer would write. */
export function handmadeToken(header: unknown, claims: unknown, signature = ''): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part(header)}.${part(claims)}.${signature}`;
}
