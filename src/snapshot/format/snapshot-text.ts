import { canonicalJson } from '../../runtime/canonical-json.ts';
import { packSnapshot } from './shared-groups.ts';
import type { Snapshot } from './types.ts';

/** A snapshot as it is signed and stored: packed, as canonical JSON, so that the same snapshot is the same text. */
export function snapshotText(snapshot: Snapshot): string {
  return canonicalJson(packSnapshot(snapshot));
}
