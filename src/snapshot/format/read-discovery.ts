import type {
  APIGroupDiscovery,
  APIResourceDiscovery,
  APIVersionDiscovery,
} from '../../apimachinery/discovery-types.ts';
import type { TimeSlice } from '../../runtime/time-slice.ts';
import type { DocumentReader } from './document-reader.ts';
import { fieldPath } from './issues.ts';
import { snapshotLimits } from './limits.ts';
import { freshness, groupMetadata, resourceDiscovery } from './schema.ts';
import { versionName } from './schema-parts.ts';

/** Reads the discovery of sets, whose groups stand in them or, once for all, in `discoveryGroups`. */
export interface GroupReader {
  readList(input: unknown, path: string): Promise<APIGroupDiscovery[]>;
}

/** @param pool `discoveryGroups`; `undefined` in a snapshot that is not packed */
export async function groupReader(
  reader: DocumentReader,
  pool: unknown,
  slice: TimeSlice,
): Promise<GroupReader> {
  /** Snapshots in memory hold one object for a group that several sets have: it is read once. */
  const known = new Map<object, APIGroupDiscovery>();

  function readOnce(input: unknown, path: string): APIGroupDiscovery | undefined {
    const isObject = typeof input === 'object' && input !== null;
    const before = isObject ? known.get(input) : undefined;
    if (before !== undefined) return before;
    const issues = reader.issues.count;
    const group = readGroup(reader, input, path);
    if (isObject && group !== undefined && reader.issues.count === issues) known.set(input, group);
    return group;
  }

  const places =
    pool === undefined ? [] : placed(reader, pool, 'discoveryGroups', snapshotLimits.pooledGroups);
  const pooled: (APIGroupDiscovery | undefined)[] = [];
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

  return {
    async readList(input, path) {
      const groups: APIGroupDiscovery[] = [];
      for (const { item, path: groupPath } of placed(reader, input, path, snapshotLimits.groups)) {
        const group = typeof item === 'number' ? readPlace(item, groupPath) : readOnce(item, groupPath);
        if (group !== undefined) groups.push(group);
        await slice.rest();
      }
      return groups;
    },
  };
}

function placed(reader: DocumentReader, input: unknown, path: string, maximum: number) {
  return reader
    .list(input, path, maximum, (item, itemPath) => ({ item, path: itemPath }))
    .map(({ item }) => item);
}

function readGroup(reader: DocumentReader, input: unknown, path: string): APIGroupDiscovery | undefined {
  const group = reader.members(input, path, ['metadata', 'versions']);
  if (group === undefined) return undefined;
  const metadata = reader.read(groupMetadata, group.metadata, fieldPath(path, 'metadata'));
  if (group.versions === undefined) return metadata && { metadata };
  const versions = reader
    .list(group.versions, fieldPath(path, 'versions'), snapshotLimits.versions, (version, versionPath) =>
      readVersion(reader, version, versionPath),
    )
    .map(({ item }) => item);
  return metadata && { metadata, versions };
}

function readVersion(reader: DocumentReader, input: unknown, path: string): APIVersionDiscovery | undefined {
  const fields = reader.members(input, path, ['version', 'resources', 'freshness']);
  if (fields === undefined) return undefined;
  const version = reader.read(versionName, fields.version, fieldPath(path, 'version'));
  const fresh = reader.read(freshness, fields.freshness, fieldPath(path, 'freshness'));
  const resources: APIResourceDiscovery[] | undefined =
    fields.resources === undefined
      ? undefined
      : reader
          .list(fields.resources, fieldPath(path, 'resources'), snapshotLimits.resources, (resource, at) =>
            reader.read(resourceDiscovery, resource, at),
          )
          .map(({ item }) => item);
  if (version === undefined) return undefined;
  return {
    version,
    ...(resources === undefined ? {} : { resources }),
    ...(fresh === undefined ? {} : { freshness: fresh }),
  };
}
