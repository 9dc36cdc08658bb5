import { canonicalJson } from '../../runtime/canonical-json.ts';
import { snapshotLimits } from '../format/limits.ts';
import { parseSnapshot } from '../format/parse-snapshot.ts';
import { snapshotText } from '../format/shared-groups.ts';
import { invalid, SnapshotError } from '../format/snapshot-error.ts';
import type { Snapshot } from '../format/types.ts';
import { readRenewal, type SnapshotRenewal, sealedRenewalType } from './renewal.ts';
import { type SigningKey, signPayload } from './signing-key.ts';
import { sealedSnapshotType } from './verify-sealed.ts';

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

/** Signs a renewal as a compact JWS. @throws {SnapshotError} `Invalid`, for what no receiver would take. */
export async function sealRenewal(given: SnapshotRenewal, key: SigningKey): Promise<string> {
  return signPayload(canonicalJson(readRenewal(given)), sealedRenewalType, key);
}
