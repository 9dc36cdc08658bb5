import type { KeySet } from './key-set.ts';

/** One interface for the sources of an issuer's keys: a file, a URL, OIDC discovery or the configuration itself. */
export interface KeySource {
  /** The keys as they are known now. @throws {TokenError} `KeysUnavailable`, while there are none. */
  current(): Promise<KeySet>;
  /** Asks for newer keys, unless that was done a moment ago; `current` gives another set then. Never rejects. */
  refresh(): Promise<void>;
}

/**
 * Keys that stand in the configuration.
 *
 * @example
 * ```ts
 * const { publicJwk } = await generateSigningKey('ES256');
 * const { keys } = await parseKeySet({ keys: [publicJwk] });
 * const source = fixedKeys(keys);
 * console.log((await source.current()).length); // 1
 * ```
 */
export function fixedKeys(keys: KeySet): KeySource {
  return { current: async () => keys, refresh: async () => {} };
}

/** Loads the keys of an issuer. @throws when they cannot be had; the message says why and holds no key. */
export type LoadKeys = () => Promise<KeySet>;
