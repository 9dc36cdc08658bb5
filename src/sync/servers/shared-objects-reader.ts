import { groupVersionString } from '../../apimachinery/group-version.ts';
import type { Clock } from '../../runtime/clock.ts';
import { type ClusterObjects, readClusterObjects } from '../cluster/cluster-objects.ts';
import type { ServerDocuments } from '../documents/server-documents.ts';
import type { ServerReading } from './server-reading.ts';

/** Reads what all servers share no more often than needed: the list of CustomResourceDefinitions can be tens of MB. */
export interface SharedObjectsReader {
  /**
   * @param readings this round's, to see whether discovery has changed
   * @param readable servers to ask, the first that answers counts
   */
  read(
    readings: ReadonlyMap<string, ServerReading>,
    readable: readonly ServerDocuments[],
    signal: AbortSignal,
  ): Promise<ClusterObjects>;
}

export function createSharedObjectsReader(clock: Clock, refreshMilliseconds: number): SharedObjectsReader {
  let last: { readonly at: number; readonly seen: string; readonly objects: ClusterObjects } | undefined;
  return {
    async read(readings, readable, signal) {
      const now = clock.monotonic();
      // A new APIService or CustomResourceDefinition shows in some server's discovery; what does not show there
      // (a bundle, availability) is found at the next refresh.
      const seen = groupVersionsOf(readings);
      if (last !== undefined && last.seen === seen && now - last.at < refreshMilliseconds)
        return last.objects;
      const objects = await readClusterObjects(readable, signal);
      const isWhole = objects.apiServices !== undefined && objects.customResourceGroups !== undefined;
      // What failed is tried again in the next round.
      last = isWhole ? { at: now, seen, objects } : undefined;
      return objects;
    },
  };
}

function groupVersionsOf(readings: ReadonlyMap<string, ServerReading>): string {
  const groupVersions = new Set<string>();
  for (const reading of readings.values()) {
    for (const group of reading.ok ? (reading.set.discovery ?? []) : []) {
      for (const { version } of group.versions ?? []) {
        groupVersions.add(groupVersionString(group.metadata.name ?? '', version));
      }
    }
  }
  return [...groupVersions].sort().join(' ');
}
