import type { APIGroupDiscovery } from '../../apimachinery/discovery-types.ts';
import type { TimeSlice } from '../../runtime/time-slice.ts';
import type { DocumentReader, Read } from './document-reader.ts';
import { snapshotLimits } from './limits.ts';
import { freshness, groupMetadata, resourceDiscovery } from './schema.ts';
import { versionName } from './schema-parts.ts';

/** Reads the discovery of one set. */
export type ReadDiscovery = (input: unknown, path: string) => Promise<APIGroupDiscovery[]>;

/**
 * Reads the discovery of sets, whose groups stand in them or, once for all, in `discoveryGroups`.
 * @param pool `discoveryGroups`; `undefined` in a snapshot that is not packed
 */
export async function discoveryReader(
  reader: DocumentReader,
  pool: unknown,
  slice: TimeSlice,
): Promise<ReadDiscovery> {
  const readGroup = groupReader(reader);
  /** Snapshots in memory hold one object for a group that several sets have: it is read once. */
  const known = new Map<object, APIGroupDiscovery>();

  function readOnce(input: unknown, path: string): APIGroupDiscovery | undefined {
    const isObject = typeof input === 'object' && input !== null;
    const before = isObject ? known.get(input) : undefined;
    if (before !== undefined) return before;
    const issues = reader.issues.count;
    const group = readGroup(input, path);
    if (isObject && group !== undefined && reader.issues.count === issues) known.set(input, group);
    return group;
  }

  const pooled: (APIGroupDiscovery | undefined)[] = [];
  const places = pool === undefined ? [] : placed(snapshotLimits.pooledGroups)(pool, 'discoveryGroups');
  for (const { item, path } of places) {
    pooled.push(readOnce(item, path));
    await slice.rest();
  }

  function readPlace(place: number, path: string): APIGroupDiscovery | undefined {
    if (!Number.isInteger(place) || place < 0 || place >= pooled.length) {
      reader.issues.add(path, `must be a group, or its place in discoveryGroups, which has ${pooled.length}`);
    }
    return pooled[place];
  }

  function placed(maximum: number) {
    return reader.list(maximum, (item, path) => ({ item, path }));
  }

  return async (input, path) => {
    const groups: APIGroupDiscovery[] = [];
    for (const { item, path: groupPath } of placed(snapshotLimits.groups)(input, path)) {
      const group = typeof item === 'number' ? readPlace(item, groupPath) : readOnce(item, groupPath);
      if (group !== undefined) groups.push(group);
      await slice.rest();
    }
    return groups;
  };
}

function groupReader(reader: DocumentReader): Read<APIGroupDiscovery> {
  const readVersion = reader.object(
    { version: reader.value(versionName) },
    {
      resources: reader.list(snapshotLimits.resources, reader.value(resourceDiscovery)),
      freshness: reader.value(freshness),
    },
  );
  return reader.object(
    { metadata: reader.value(groupMetadata) },
    { versions: reader.list(snapshotLimits.versions, readVersion) },
  );
}
