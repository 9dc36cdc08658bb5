import { CodedError } from '../../runtime/coded-error.ts';

/** Why a token does not establish the caller. */
export type TokenErrorCode =
  // The token is wrong for every verifier: 401.
  | 'MalformedToken'
  /** `none`, an HMAC, or an algorithm that the named key is not for. */
  | 'ForbiddenAlgorithm'
  /** RFC 7515 section 4.1.11: an extension that must be understood, and is not. */
  | 'CriticalHeader'
  | 'InvalidSignature'
  | 'Expired'
  | 'NotYetValid'
  | 'WrongAudience'
  /** A claim that is needed is missing, or not of the kind it has to be. */
  | 'InvalidClaim'
  | 'RequiredClaimMismatch'
  | 'EmailNotVerified'
  // This router cannot tell; the API server may: the token passes through.
  /** No keys of the issuer could be loaded yet. */
  | 'KeysUnavailable'
  /** The issuer's keys are here, and none of them is the one that the token names. */
  | 'UnknownKey'
  | 'UnsupportedAlgorithm'
  /** The groups stand at another endpoint (OpenID Connect Core 1.0 section 5.6.2), which is not asked from here. */
  | 'DistributedClaim'
  /** A name that begins with `system:` and comes from an issuer outside the cluster. */
  | 'ReservedName'
  /** A service account token without an expiry, an audience or a bound object: only its Secret can revoke it. */
  | 'UnboundToken';

const unverifiable: ReadonlySet<TokenErrorCode> = new Set([
  'KeysUnavailable',
  'UnknownKey',
  'UnsupportedAlgorithm',
  'DistributedClaim',
  'ReservedName',
  'UnboundToken',
]);

/**
 * Thrown for a token of a configured issuer that does not establish the caller. The message is a predicate about
 * the token (`is expired`) and repeats nothing that stands in it: tokens come from anyone, messages end in logs.
 */
export class TokenError extends CodedError<TokenErrorCode> {
  override readonly name = 'TokenError';
  /** Whether the token was found to be wrong; otherwise it could only not be judged here. */
  get isRefusal(): boolean {
    return !unverifiable.has(this.code);
  }
}
