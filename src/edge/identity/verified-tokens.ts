import type { Caller } from '../../request/user-info.ts';

/** Milliseconds. A key that its issuer has withdrawn counts for as long (jose's `createRemoteJWKSet`, `cacheMaxAge`). */
const longest = 600_000;
/** Tokens remembered at most, none above `longestRemembered`: the groups of their users take some megabytes. */
const mostTokens = 500;
const longestRemembered = 8 * 1024;

interface VerifiedToken {
  readonly caller: Caller;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

/**
 * The callers whom verified tokens name: by the token's hash, until the token expires. A signature costs a tenth of a
 * request.
 */
export class VerifiedTokens {
  readonly #tokens = new Map<string, VerifiedToken>();

  /** @param hash of the token, as `hashOf` gives it */
  get(hash: string, now: number): Caller | undefined {
    const known = this.#tokens.get(hash);
    if (known === undefined || now < known.until) return known?.caller;
    this.#tokens.delete(hash);
    return undefined;
  }

  /** @param expires seconds since the epoch, the token's `exp` */
  add(hash: string, token: string, caller: Caller, { expires, now }: { expires: number; now: number }): void {
    if (token.length > longestRemembered) return;
    // The one that was verified first: nearly always the one that expires first.
    const [first] = this.#tokens.size >= mostTokens ? this.#tokens.keys() : [];
    if (first !== undefined) this.#tokens.delete(first);
    this.#tokens.set(hash, { caller, until: Math.min(expires * 1000, now + longest) });
  }
}

export async function hashOf(token: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(token));
  return new Uint8Array(digest).toBase64();
}
