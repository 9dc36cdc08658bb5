import { parseStorageVersionName } from '../../apimachinery/group-version.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';

/** A resource of which some servers cannot decode every object. */
export interface UndecodableResource {
  /** `<resource>.<group>`, of the legacy group `<resource>`. */
  readonly resource: string;
  /** The group versions that other servers store it at. */
  readonly storedAt: readonly string[];
  /** IDs of the servers that do not know all of those. */
  readonly servers: readonly string[];
}

/** By resource: the group versions that it is stored at, each with the IDs of the servers that cannot decode it. */
type UndecodableVersions = ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>;

/** What `ServedSet.undecodableVersions` says of all servers. Pure. */
export function undecodableVersions(table: RoutingTable | undefined): UndecodableVersions {
  const { servers = [], servedSets = {} } = table?.snapshot ?? {};
  const found = servers.flatMap(({ id, serves }) =>
    Object.entries(servedSets[serves]?.undecodableVersions ?? {}).flatMap(([name, versions]) =>
      versions.map((storedAt) => ({ resource: qualifiedResource(name), storedAt, id })),
    ),
  );
  const byText = (left: readonly [string, unknown], right: readonly [string, unknown]) =>
    left[0] < right[0] ? -1 : 1;
  const byResource = [...Map.groupBy(found, ({ resource }) => resource)].sort(byText);
  return new Map(
    byResource.map(([resource, entries]) => {
      const byVersion = [...Map.groupBy(entries, ({ storedAt }) => storedAt)].sort(byText);
      return [
        resource,
        new Map(byVersion.map(([version, all]) => [version, all.map(({ id }) => id).sort()])),
      ];
    }),
  );
}

/** The same, as `v1/status` shows it. Pure. */
export function undecodableResources(undecodable: UndecodableVersions): readonly UndecodableResource[] {
  return [...undecodable].map(([resource, versions]) => ({
    resource,
    storedAt: [...versions.keys()],
    servers: [...new Set([...versions.values()].flat())].sort(),
  }));
}

/** How many resources warnings name. */
const namedResources = 5;

/** A sentence for each resource, as far as there are few. Pure. */
export function undecodableWarnings(undecodable: UndecodableVersions, isRouted: boolean): readonly string[] {
  const consequence = isRouted
    ? 'requests for it go to servers that can, and fail with 500 while there is none'
    : 'they fail with 500 there, since --preferred-version=local leaves them where they arrive';
  const warnings = [...undecodable].slice(0, namedResources).map(([resource, versions]) => {
    const failures = [...versions].map(
      ([storedAt, servers], index) =>
        `${servers.join(', ')} cannot decode ${index === 0 ? resource : 'those'} stored at ${storedAt}`,
    );
    return `${failures.join(', and ')}: ${consequence}`;
  });
  const more = undecodable.size - namedResources;
  return more > 0
    ? [...warnings, `${more} more resources are stored at versions that not all servers decode`]
    : warnings;
}

/** `deployments.apps` for the StorageVersion name `apps.deployments`, as kubectl writes resources. */
export function qualifiedResource(storageVersionName: string): string {
  const { group = '', resource = storageVersionName } = parseStorageVersionName(storageVersionName) ?? {};
  return group === '' ? resource : `${resource}.${group}`;
}
