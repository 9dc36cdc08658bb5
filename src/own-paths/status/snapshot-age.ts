import { durationText } from '../../runtime/duration-text.ts';
import { isOld, type RoutingTable } from '../../snapshot/routing-table/routing-table.ts';

/**
 * What there is to say of a snapshot that nobody has renewed for long. It stays in use. Pure.
 * @param now milliseconds since the epoch
 */
export function oldSnapshotWarnings(
  table: RoutingTable | undefined,
  now: number,
  readsClusterItself: boolean,
): string[] {
  if (table === undefined || !isOld(table, now)) return [];
  const cause = readsClusterItself ? 'this router cannot read the cluster' : 'see to the sync job';
  return [`the snapshot is ${durationText(now - table.createdAt)} old, and still used: ${cause}`];
}
