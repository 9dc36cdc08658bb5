import type { APIGroupDiscovery } from '../../apimachinery/discovery-types.ts';
import { canonicalJson } from '../../runtime/canonical-json.ts';
import { sha256Digest } from '../../runtime/sha256.ts';
import type { ServedSet } from './types.ts';

/**
 * The key of a set in `servedSets`: `sha256:<hex>` over its canonical JSON. Because the key is the content,
 * servers that serve the same share one set, and the set of a key can never be replaced.
 */
export function servedSetKey(set: ServedSet): Promise<string> {
  return keyOfText(servedSetText(set, canonicalJson));
}

/** The key of a set whose `servedSetText` is known. */
export function keyOfText(text: string): Promise<string> {
  return sha256Digest(new TextEncoder().encode(text));
}

/**
 * `canonicalJson` of a set, with its groups' texts from elsewhere: sets share most of their groups, and each need
 * be written out only once.
 */
export function servedSetText(set: ServedSet, groupText: (group: APIGroupDiscovery) => string): string {
  const { discovery, ...rest } = set;
  const restText = canonicalJson(rest);
  if (discovery === undefined) return restText;
  // `discovery` sorts before every other member of a set.
  const separator = restText === '{}' ? '' : ',';
  return `{"discovery":[${discovery.map(groupText).join(',')}]${separator}${restText.slice(1)}`;
}
