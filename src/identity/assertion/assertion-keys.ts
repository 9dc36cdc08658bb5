import { isVisibleAscii } from '../../apimachinery/names.ts';
import { type ParseKeysResult, type PinnedKey, parsePinnedKeys } from '../../snapshot/signing/keys.ts';

export interface AssertionKey extends PinnedKey {
  /** The `iss` that it may sign under, and the only one. */
  readonly issuer: string;
}

/** By `kid`. During a rotation an issuer has two. */
export type AssertionKeySet = ReadonlyMap<string, AssertionKey>;

const maximumIssuerLength = 512;

/** True if a text can be an issuer's name, which stands in logs and in configuration as it is. */
export function isIssuerName(text: string): boolean {
  return text.length > 0 && text.length <= maximumIssuerLength && isVisibleAscii(text);
}

/**
 * Reads the public keys of edge routers: a JWKS file (RFC 7517 section 5) in which every key has one member
 * more, `issuer`, the router that it speaks for. Every error is reported with its path.
 */
export function parseAssertionKeys(text: string): Promise<ParseKeysResult<AssertionKey>> {
  const seen = new Set<unknown>();
  return parsePinnedKeys(text, (key, jwk, path, issues) => {
    const { issuer, x } = jwk;
    // Under a second kid it could speak for a second issuer.
    if (seen.has(x)) issues.add(path, 'must not be the same key again under another kid');
    seen.add(x);
    if (typeof issuer === 'string' && isIssuerName(issuer)) return { ...key, issuer };
    issues.add(
      `${path}.issuer`,
      `must name the router that this key speaks for, in 1 to ${maximumIssuerLength} printable ASCII characters without spaces`,
    );
    return undefined;
  });
}
