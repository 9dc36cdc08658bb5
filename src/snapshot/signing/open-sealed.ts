import { parseJsonText } from '../format/json-text.ts';
import { sealedRenewalLimit, sealedSnapshotLimit } from '../format/limits.ts';
import { parseSnapshotText } from '../format/parse-snapshot.ts';
import { invalid } from '../format/snapshot-error.ts';
import type { Snapshot } from '../format/types.ts';
import type { PinnedKeySet } from './keys.ts';
import { readRenewal, type SnapshotRenewal, sealedRenewalType } from './renewal.ts';
import { sealedSnapshotType, verifySealed } from './verify-sealed.ts';

interface OpenOptions {
  /** Characters of the JWS; default and most: what an 8 MiB snapshot takes. */
  readonly limit?: number | undefined;
}

export interface OpenedSnapshot {
  readonly snapshot: Snapshot;
  /** `sha256:<hex>` of the payload's bytes. */
  readonly digest: string;
  /** The key that signed it. */
  readonly kid: string;
}

/**
 * Opens a sealed snapshot: size, signature, then content, each only if the one before holds.
 *
 * Whether it is newer than what is held, and whether its addresses may be dialled, is for `SnapshotReceiver`.
 *
 * @throws {SnapshotError} any code but `NotNewer`.
 *
 * @example
 * ```ts
 * const { privateJwk, publicJwk } = await generateSigningKey('EdDSA');
 * const sealed = await sealSnapshot(snapshot, signingKeyOf(privateJwk));
 *
 * const pinned = await parseSnapshotKeys(JSON.stringify({ keys: [publicJwk] }));
 * if (pinned.ok) {
 *   const opened = await openSnapshot(sealed, pinned.keys);
 *   console.log(opened.kid === publicJwk.kid); // true
 * }
 * ```
 */
export async function openSnapshot(
  jws: string,
  keys: PinnedKeySet,
  options: OpenOptions = {},
): Promise<OpenedSnapshot> {
  const { text, digest, kid } = await verifySealed(jws, keys, {
    subject: 'The snapshot',
    typ: sealedSnapshotType,
    limit: Math.min(options.limit ?? sealedSnapshotLimit, sealedSnapshotLimit),
  });
  const parsed = await parseSnapshotText(text);
  if (!parsed.ok) throw invalid('The snapshot', parsed.issues);
  return { snapshot: parsed.snapshot, digest, kid };
}

/** Opens a sealed renewal, as `openSnapshot` does a snapshot. @throws {SnapshotError} any code but `NotNewer`. */
export async function openRenewal(jws: string, keys: PinnedKeySet): Promise<SnapshotRenewal> {
  const { text } = await verifySealed(jws, keys, {
    subject: 'The renewal',
    typ: sealedRenewalType,
    limit: sealedRenewalLimit,
  });
  const parsed = parseJsonText(text, 2);
  if (!parsed.ok) throw invalid('The renewal', [parsed.issue]);
  return readRenewal(parsed.value);
}
