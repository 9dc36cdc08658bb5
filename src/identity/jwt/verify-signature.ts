import { compactVerify, decodeProtectedHeader, errors, type ProtectedHeaderParameters } from 'jose';
import { isJsonObject } from '../../snapshot/format/json-text.ts';
import type { Claims } from './claims.ts';
import { type KeySet, requireSignatureAlgorithm, type SignatureAlgorithm } from './key-set.ts';
import type { KeySource } from './key-source.ts';
import { TokenError } from './token-error.ts';

interface SignatureHeader {
  readonly alg: SignatureAlgorithm;
  readonly kid: string | undefined;
}

/**
 * The claims of a compact JWS, once one of the issuer's keys has confirmed them. Nothing in the token chooses the
 * key but its `kid`: `jwk`, `jku` and `x5c` in a header are not looked at (RFC 8725 section 3.10).
 *
 * Newer keys are asked for when the token names one that is not known, or names none and is of none of them.
 * @throws {TokenError}
 */
export async function verifySignature(token: string, keys: KeySource): Promise<Claims> {
  const header = readHeader(token);
  const known = await keys.current();
  let attempt = await tryKeys(token, header, known);
  if (
    attempt.outcome === 'no such key' ||
    (attempt.outcome === 'not confirmed' && header.kid === undefined)
  ) {
    await keys.refresh();
    const newer = await keys.current();
    // Also newer when another request has asked for them meanwhile.
    if (newer !== known) attempt = await tryKeys(token, header, newer);
  }
  if (attempt.outcome === 'verified') return attempt.claims;
  throw attempt.outcome === 'no such key'
    ? new TokenError('UnknownKey', 'is signed with a key that is not among those of its issuer')
    : new TokenError('InvalidSignature', 'has a signature that none of the keys of its issuer confirms');
}

function readHeader(token: string): SignatureHeader {
  let header: ProtectedHeaderParameters;
  try {
    header = decodeProtectedHeader(token);
  } catch (cause) {
    throw new TokenError('MalformedToken', 'has a header that cannot be read', { cause });
  }
  const { alg, kid } = header;
  if (typeof alg !== 'string' || (kid !== undefined && typeof kid !== 'string')) {
    throw new TokenError('MalformedToken', 'has a header without alg, or with a kid that is no text');
  }
  if (Object.hasOwn(header, 'crit')) {
    throw new TokenError('CriticalHeader', 'has critical header parameters, which are not understood here');
  }
  return { alg: requireSignatureAlgorithm(alg), kid };
}

type Attempt =
  | { readonly outcome: 'verified'; readonly claims: Claims }
  | { readonly outcome: 'not confirmed' | 'no such key' };

async function tryKeys(token: string, { alg, kid }: SignatureHeader, keys: KeySet): Promise<Attempt> {
  const named = kid === undefined ? keys : keys.filter((key) => key.kid === kid);
  const candidates = named.filter((key) => key.algorithms.includes(alg));
  if (candidates.length === 0) {
    if (kid === undefined || named.length === 0) return { outcome: 'no such key' };
    throw new TokenError(
      'ForbiddenAlgorithm',
      'is signed with an algorithm that the key it names is not for',
    );
  }
  for (const key of candidates) {
    try {
      const { payload } = await compactVerify(token, key.jwk, { algorithms: [alg] });
      return { outcome: 'verified', claims: readClaims(payload) };
    } catch (error) {
      if (error instanceof errors.JWSSignatureVerificationFailed) continue;
      if (error instanceof errors.JOSEError) {
        throw new TokenError('MalformedToken', 'is no compact JWS', { cause: error });
      }
      throw error;
    }
  }
  return { outcome: 'not confirmed' };
}

function readClaims(payload: Uint8Array): Claims {
  try {
    const claims: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload));
    if (isJsonObject(claims)) return claims;
  } catch {
    // The engine's own words quote the claims.
    throw new TokenError('MalformedToken', 'holds claims that are no JSON in UTF-8');
  }
  throw new TokenError('MalformedToken', 'holds claims that are no JSON object');
}
