import { buildRoutingTable } from './build-routing-table.ts';
import type { SnapshotIssue } from './issues.ts';
import { parseSnapshotText } from './parse-snapshot.ts';
import type { RoutingTable } from './routing-table.ts';

export type LoadUnsignedResult =
  | { readonly ok: true; readonly table: RoutingTable }
  | { readonly ok: false; readonly issues: readonly SnapshotIssue[] };

/**
 * Makes a routing table of a plain JSON snapshot, to look at: for `explain` and for tests, where a person
 * names a local file. A router takes its snapshots through `SnapshotReceiver`, which has no unsigned way in.
 */
export async function loadUnsignedSnapshot(text: string): Promise<LoadUnsignedResult> {
  const parsed = await parseSnapshotText(text);
  return parsed.ok ? { ok: true, table: buildRoutingTable(parsed.snapshot) } : parsed;
}
