const order = new Intl.Collator('en', { numeric: true });

/** Names as people count them: `node-2` before `node-10`. */
export function compareNames(left: string, right: string): number {
  // Names that only differ in how they are written keep one order all the same.
  return order.compare(left, right) || (left < right ? -1 : left > right ? 1 : 0);
}

/** What people call the server: its host name where the snapshot has it, since IDs of kube-apiserver are hashes. */
export function displayName(id: string, hostnames: ReadonlyMap<string, string>): string {
  return hostnames.get(id) ?? id;
}

/** A sentence that names servers by their IDs, as people call them. */
export function withDisplayNames(text: string, hostnames: ReadonlyMap<string, string>): string {
  if (hostnames.size === 0) return text;
  return text.replaceAll(/[^\s,;:()]+/g, (word) => hostnames.get(word) ?? word);
}

/** Longer versions are cut: the snapshot takes up to 512 characters, and none that a server reports is so long. */
const longestVersion = 160;

export function shortVersion(version: string): string {
  return version.length > longestVersion ? `${version.slice(0, longestVersion - 1)}…` : version;
}
