import { canonicalJson } from './canonical-json.ts';
import { sha256Digest } from './sha256.ts';
import type { ServedSet } from './types.ts';

/**
 * The key of a set in `servedSets`: `sha256:<hex>` over its canonical JSON. Because the key is the content,
 * servers that serve the same share one set, and a set can never be exchanged behind a key.
 */
export function servedSetKey(set: ServedSet): Promise<string> {
  return sha256Digest(new TextEncoder().encode(canonicalJson(set)));
}
