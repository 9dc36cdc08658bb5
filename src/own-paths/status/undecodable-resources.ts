import { parseStorageVersionName } from '../../apimachinery/group-version.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';

/** A resource of which some servers cannot decode every object. */
export interface UndecodableResource {
  /** `<resource>.<group>`, of the legacy group `<resource>`. */
  readonly resource: string;
  /** The group versions that other servers store it at. */
  readonly storedAt: readonly string[];
  /** IDs of the servers that do not know those. */
  readonly servers: readonly string[];
}

/** What `ServedSet.undecodableVersions` says, by resource. Pure. */
export function undecodableResources(table: RoutingTable | undefined): readonly UndecodableResource[] {
  const found = new Map<string, { readonly storedAt: Set<string>; readonly servers: string[] }>();
  for (const { id, serves } of table?.snapshot.servers ?? []) {
    const versions = table?.snapshot.servedSets[serves]?.undecodableVersions ?? {};
    for (const [name, storedAt] of Object.entries(versions)) {
      const entry = found.get(name) ?? { storedAt: new Set<string>(), servers: [] };
      found.set(name, entry);
      for (const groupVersion of storedAt) entry.storedAt.add(groupVersion);
      entry.servers.push(id);
    }
  }
  return [...found]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, { storedAt, servers }]) => ({
      resource: qualifiedResource(name),
      storedAt: [...storedAt].sort(),
      servers: servers.sort(),
    }));
}

function qualifiedResource(name: string): string {
  const { group = '', resource = name } = parseStorageVersionName(name) ?? {};
  return group === '' ? resource : `${resource}.${group}`;
}

/** How many resources warnings name. */
const namedResources = 5;

/** Each resource in a sentence of its own, as far as there are few. */
export function undecodableWarnings(
  resources: readonly UndecodableResource[],
  isRouted: boolean,
): readonly string[] {
  const consequence = isRouted
    ? 'requests for it go to servers that can, and fail with 500 while there is none'
    : 'they fail with 500 there, since --preferred-version=local leaves them where they arrive';
  const warnings = resources
    .slice(0, namedResources)
    .map(
      ({ resource, storedAt, servers }) =>
        `${resource} is stored at ${storedAt.join(', ')}, which ${servers.join(', ')} cannot decode: ${consequence}`,
    );
  const more = resources.length - namedResources;
  return more > 0
    ? [...warnings, `${more} more resources are stored at versions that not all servers decode`]
    : warnings;
}
