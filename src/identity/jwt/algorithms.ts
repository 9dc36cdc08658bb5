import { TokenError } from './token-error.ts';

/**
 * The asymmetric signature algorithms that can be checked here (RFC 7518 section 3.1, RFC 8037, RFC 9864): those
 * of Kubernetes (plugin/pkg/authenticator/token/oidc) and Ed25519.
 */
const signatureAlgorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const;
export type SignatureAlgorithm = (typeof signatureAlgorithms)[number];

function isSignatureAlgorithm(alg: string): alg is SignatureAlgorithm {
  return (signatureAlgorithms as readonly string[]).includes(alg);
}

/**
 * The algorithm a token says it is signed with.
 * @throws {TokenError} for `none` and HMAC, which would make a public key a secret that every reader knows
 *   (RFC 8725 section 2.1), and for algorithms that cannot be checked here.
 */
export function requireSignatureAlgorithm(alg: string): SignatureAlgorithm {
  if (isSignatureAlgorithm(alg)) return alg;
  // Compared in any case: a spelling that some other verifier takes for the same thing is no better.
  if (/^(none|hs\d*)$/i.test(alg)) {
    throw new TokenError('ForbiddenAlgorithm', 'is not signed with an asymmetric algorithm');
  }
  throw new TokenError('UnsupportedAlgorithm', 'is signed with an algorithm that cannot be checked here');
}

/** The algorithms a public key can be used with, by its kind; empty for kinds that cannot be used here. */
export function algorithmsOfKey(jwk: Readonly<Record<string, unknown>>): readonly SignatureAlgorithm[] {
  const { kty, crv } = jwk;
  if (kty === 'RSA') return ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'];
  if (kty === 'EC' && crv === 'P-256') return ['ES256'];
  if (kty === 'EC' && crv === 'P-384') return ['ES384'];
  if (kty === 'EC' && crv === 'P-521') return ['ES512'];
  return kty === 'OKP' && crv === 'Ed25519' ? ['EdDSA', 'Ed25519'] : [];
}
