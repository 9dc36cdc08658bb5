import { sealedSnapshotLimit, snapshotLimits } from '../format/limits.ts';
import { parseSnapshot, parseSnapshotText } from '../format/parse-snapshot.ts';
import { snapshotText } from '../format/shared-groups.ts';
import { invalid, SnapshotError } from '../format/snapshot-error.ts';
import type { Snapshot } from '../format/types.ts';
import type { PinnedKeySet } from './keys.ts';
import { type SigningKey, signPayload } from './signing-key.ts';
import { verifySealed } from './verify-sealed.ts';

/** Pinned as `typ`: nothing else that the same key may have signed passes for a snapshot. */
export const sealedSnapshotType = 'mixed-version-proxy-snapshot+jws';

/**
 * Signs a snapshot as a compact JWS. The payload is the packed snapshot (`packSnapshot`) as canonical JSON, so that
 * the same snapshot sealed twice has the same content, and a receiver that holds it calls it unchanged.
 *
 * @throws {SnapshotError} `Invalid` or `TooLarge`, for what no receiver would take.
 *
 * @example
 * ```ts
 * const { privateJwk } = await generateSigningKey('EdDSA');
 * const sealed = await sealSnapshot(snapshot, signingKeyOf(privateJwk));
 * console.log(sealed.split('.').length); // 3
 * ```
 */
export async function sealSnapshot(snapshot: Snapshot, key: SigningKey): Promise<string> {
  const parsed = await parseSnapshot(snapshot);
  if (!parsed.ok) throw invalid('The snapshot', parsed.issues);
  const text = snapshotText(parsed.snapshot);
  if (new TextEncoder().encode(text).length > snapshotLimits.bytes) {
    throw new SnapshotError('TooLarge', `The snapshot is larger than ${snapshotLimits.bytes} bytes.`);
  }
  return signPayload(text, sealedSnapshotType, key);
}

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
