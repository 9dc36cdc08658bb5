import type { Clock } from '../../runtime/clock.ts';
import { type ReadClusterObjects, readClusterObjects } from '../cluster/cluster-objects.ts';
import type { ServerDocuments } from '../documents/server-documents.ts';
import { groupVersionsIn, type ServerReading } from './server-reading.ts';

/** Reads what all servers share, but only when needed: the list of CustomResourceDefinitions can be tens of MB. */
export function createSharedObjectsReader(clock: Clock, refreshMilliseconds: number) {
  let last: { readonly at: number; readonly seen: string; readonly objects: ReadClusterObjects } | undefined;
  return {
    /**
     * @param readings those of this round, to see whether discovery has changed
     * @param readable servers to read from: the first that can be read counts
     */
    async read(
      readings: ReadonlyMap<string, ServerReading>,
      readable: readonly ServerDocuments[],
      signal: AbortSignal,
    ): Promise<ReadClusterObjects> {
      const now = clock.monotonic();
      // A new APIService or CustomResourceDefinition changes some server's discovery. What does not (a CA bundle,
      // availability) is read at the next refresh.
      const seen = discoveredIn(readings);
      if (last !== undefined && last.seen === seen && now - last.at < refreshMilliseconds)
        return last.objects;
      const objects = await readClusterObjects(readable, signal);
      // After a failure the next round reads again.
      last = objects.failures.length === 0 ? { at: now, seen, objects } : undefined;
      return objects;
    },
  };
}

/** The group versions of all servers, as text to compare. */
function discoveredIn(readings: ReadonlyMap<string, ServerReading>): string {
  const groupVersions = new Set<string>();
  for (const reading of readings.values()) {
    if (!reading.ok) continue;
    for (const { groupVersion } of groupVersionsIn(reading.set.discovery)) groupVersions.add(groupVersion);
  }
  return [...groupVersions].sort().join(' ');
}
