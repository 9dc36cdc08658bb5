import type { UserInfo } from '../../request/user-info.ts';
import { type ClaimMappings, mapClaims } from './claim-mappings.ts';
import { type Claims, type ClockTolerance, checkAudience, checkTimes, claimAt } from './claims.ts';
import type { KeySource } from './key-source.ts';
import { TokenError } from './token-error.ts';

/** One whose tokens establish callers. */
export interface TokenIssuer {
  /** What the `iss` claim of its tokens has to be, character by character. */
  readonly issuer: string;
  readonly keys: KeySource;
  /**
   * Who the caller is, by claims whose signature and issuer hold. Pure.
   * @param now milliseconds since the epoch
   * @throws {TokenError}
   */
  identify(claims: Claims, now: number): UserInfo;
}

/** What makes a token of an issuer acceptable, and who its bearer is then. */
export interface TokenPolicy {
  /** One of them has to be among the token's. */
  readonly audiences: readonly string[];
  /** Claims that have to be there with exactly this text. */
  readonly requiredClaims: ReadonlyMap<string, string>;
  readonly mappings: ClaimMappings;
}

/** As go-oidc, with which kube-apiserver checks these tokens: none for the expiry, a minute for the beginning. */
const tolerance: ClockTolerance = { expiry: 0, notBefore: 60, issuedAt: 60 };

/**
 * An issuer outside the cluster, by the words of Kubernetes' AuthenticationConfiguration.
 *
 * @example
 * ```ts
 * const { publicJwk } = await generateSigningKey('ES256');
 * const { keys } = await parseKeySet({ keys: [publicJwk] });
 * const issuer = externalIssuer('https://issuer.example', fixedKeys(keys), {
 *   audiences: ['kubernetes'],
 *   requiredClaims: new Map(),
 *   mappings: {
 *     username: { path: ['sub'], prefix: 'oidc:', required: true },
 *     groups: undefined,
 *     uid: undefined,
 *     extra: [],
 *   },
 * });
 * const { name } = issuer.identify({ sub: 'jane', aud: 'kubernetes', exp: 4e9 }, Date.now());
 * console.log(name); // oidc:jane
 * ```
 */
export function externalIssuer(issuer: string, keys: KeySource, policy: TokenPolicy): TokenIssuer {
  const audiences = new Set(policy.audiences);
  return {
    issuer,
    keys,
    identify(claims, now) {
      checkTimes(claims, now, tolerance);
      checkAudience(claims, audiences);
      checkRequiredClaims(claims, policy.requiredClaims);
      return mapClaims(claims, policy.mappings);
    },
  };
}

function checkRequiredClaims(claims: Claims, required: ReadonlyMap<string, string>): void {
  for (const [claim, value] of required) {
    // Only text counts, as upstream: the number 1 is not the value "1".
    if (claimAt(claims, [claim]) === value) continue;
    throw new TokenError('RequiredClaimMismatch', `does not have the required value in its claim ${claim}`);
  }
}
