/**
 * Bounds of a snapshot. Each is far above what a real cluster needs and low enough that a snapshot at every
 * bound can be read without harm. Snapshots are signed, but a bug in their maker must not take routers down.
 */
export const snapshotLimits = {
  /** Bytes of all sets, and of the rest. 50 servers with 400 resources each take under 250 KB; 1,000 CRDs some MB. */
  bytes: 8 * 1024 * 1024,
  /** Characters that all sets have when what they share is written out for each of them. */
  unpacked: 32 * 1024 * 1024,
  /** A snapshot's deepest value (the kind of an accepted type of a subresource in discovery) is 13 deep. */
  depth: 32,
  /** Control planes have 1 to 7 API servers; the published scalability tests end at 50. */
  servers: 1_000,
  servedSets: 1_000,
  /** Resources of one set; the largest CRD collections known have some 3,000. */
  resources: 20_000,
  /** Served versions of one group or resource. Upstream's widest group has had 6. */
  versions: 64,
  /** Subresources of one resource in one version. Pods have 11. */
  subresources: 128,
  groups: 5_000,
  /** OpenAPI v3 documents: one for each group version. */
  documents: 20_000,
  /** Verbs, short names, categories and accepted types of one resource. */
  words: 64,
  apiServices: 20_000,
  customResourceGroups: 20_000,
  /** Any name or version string. A DNS subdomain has at most 253 characters (RFC 1123). */
  text: 512,
  /** An OpenAPI v3 `serverRelativeURL`: path and content hash. */
  relativeURL: 2_048,
} as const;

/** Sets and what is signed, in base64url (RFC 4648: 4 characters for 3 bytes), together; a header and a signature. */
export const sealedSnapshotLimit = Math.ceil((snapshotLimits.bytes * 4) / 3) + 4_096;

/** Seconds that a generation may be ahead of the clock: it is made of seconds since the epoch, and rises by single steps. */
const longestAhead = 24 * 60 * 60;

/** True if a generation is higher than any sync job with a clock that is right can have reached. @param now milliseconds since the epoch */
export function isGenerationAhead(generation: number, now: number): boolean {
  return generation > now / 1000 + longestAhead;
}
