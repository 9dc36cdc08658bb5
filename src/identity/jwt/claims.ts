import { isJsonObject } from '../../snapshot/format/json-text.ts';
import { TokenError } from './token-error.ts';

/** The claims of a token, as `JSON.parse` makes them. Only own members count: `constructor` is no claim. */
export type Claims = Readonly<Record<string, unknown>>;

/** The value under `path`, through nested objects; `undefined` where there is none. */
export function claimAt(claims: Claims, path: readonly string[]): unknown {
  let value: unknown = claims;
  for (const name of path) {
    if (!isJsonObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

/** How much the clocks of issuer and router may differ, in seconds. */
export interface ClockTolerance {
  readonly expiry: number;
  readonly notBefore: number;
  readonly issuedAt: number;
}

/**
 * Checks `exp`, `nbf` and `iat` (RFC 7519 section 4.1). A token without an expiry is refused: nothing would ever
 * end it here.
 * @param now milliseconds since the epoch
 * @throws {TokenError}
 */
export function checkTimes(claims: Claims, now: number, tolerance: ClockTolerance): void {
  const expiry = numericDate(claims, 'exp');
  const notBefore = numericDate(claims, 'nbf');
  const issuedAt = numericDate(claims, 'iat');
  const seconds = now / 1000;
  if (expiry === undefined) throw new TokenError('InvalidClaim', 'has no exp claim');
  // "On or after which" it must not be accepted.
  if (seconds >= expiry + tolerance.expiry) throw new TokenError('Expired', 'is expired');
  if (notBefore !== undefined && seconds < notBefore - tolerance.notBefore) {
    throw new TokenError('NotYetValid', 'is not valid yet');
  }
  if (issuedAt !== undefined && seconds < issuedAt - tolerance.issuedAt) {
    throw new TokenError('NotYetValid', 'was issued in the future: compare the clocks of router and issuer');
  }
}

function numericDate(claims: Claims, name: string): number | undefined {
  const value = claimAt(claims, [name]);
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw new TokenError('InvalidClaim', `has an ${name} claim that is no date in seconds`);
}

/** The audiences of a token; empty where it has none. @throws {TokenError} */
export function audiencesOf(claims: Claims): readonly string[] {
  const audience = claimAt(claims, ['aud']);
  if (audience === undefined) return [];
  if (typeof audience === 'string') return [audience];
  if (isTextList(audience)) return audience;
  throw new TokenError('InvalidClaim', 'has an aud claim that is neither text nor a list of texts');
}

/** @throws {TokenError} when none of the token's audiences is one of `accepted`. */
export function checkAudience(claims: Claims, accepted: ReadonlySet<string>): void {
  if (!audiencesOf(claims).some((audience) => accepted.has(audience))) {
    throw new TokenError('WrongAudience', 'is meant for another audience');
  }
}

export function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
