import type {
  APIGroupDiscovery,
  APIResourceDiscovery,
  APIVersionDiscovery,
} from '../../apimachinery/discovery-types.ts';
import { groupNameOf, groupVersionString, storageVersionName } from '../../apimachinery/group-version.ts';
import { compareVersionPriority } from '../../apimachinery/version-priority.ts';
import { compareLeadership } from '../forms/leading-server.ts';
import { byName, type Contribution, type DiscoverySource } from './contribution.ts';
import type { DiscoveryView } from './discovery-view.ts';
import { type DiscoveryConflict, isSameList, mergeResource } from './merge-resource.ts';

export interface MergedDiscovery {
  /** The legacy group, under the empty name, first; `freshness` is always set. */
  readonly groups: readonly APIGroupDiscovery[];
  readonly conflicts: readonly DiscoveryConflict[];
  /** By `storageVersionHashKey`: what aggregated documents cannot say and classic ones do. */
  readonly storageVersionHashes: ReadonlyMap<string, string>;
}

/** Names one resource in one version, as `batch/v1/jobs` does. */
export function storageVersionHashKey(group: string, version: string, resource: string): string {
  return `${groupVersionString(group, version)}/${resource}`;
}

/**
 * What the servers of a cluster serve together: every group, version, resource, verb and subresource that
 * at least one of them serves, and nothing else. Pure; the order of `views` does not matter, nor how many
 * servers serve the same.
 *
 * Where servers differ, the leading one is followed (`compareLeadership`: the version that responds where there is one,
 * else the newest, then the lowest ID), for the same document on every router.
 *
 * A group version is Stale when it cannot be counted on: every server that serves it could not be read, says
 * itself that it is stale, or is beyond reach. Stale or not, it stays: a client that sees it vanish takes
 * its objects for gone.
 *
 * @example
 * ```ts
 * const batch = { metadata: { name: 'batch' }, versions: [{ version: 'v1', resources: [] }] };
 * const { groups } = mergeDiscovery([
 *   { serverId: 'cp-a', version: 'v1.25.16', groups: [], stale: false },
 *   { serverId: 'cp-b', version: 'v1.26.15', groups: [batch], stale: false },
 * ]);
 * console.log(groups[0]?.metadata?.name); // batch
 * ```
 */
export function mergeDiscovery(views: readonly DiscoveryView[], leadingMinor?: string): MergedDiscovery {
  const sources = sourcesOf(views, leadingMinor);
  const findings: Findings = { conflicts: [], storageVersionHashes: new Map() };
  const groups: APIGroupDiscovery[] = [];
  const lists = sources.map((source) => ({ source, item: source.groups }));
  for (const [name, contributions] of byName(lists, groupNameOf)) {
    const versions = mergeVersions(name, contributions, sources, findings);
    // A group without a version is nothing one could ask for.
    if (versions.length === 0) continue;
    const group = { metadata: name === '' ? {} : { name }, versions };
    if (name === '') groups.unshift(group);
    else groups.push(group);
  }
  return { groups, ...findings };
}

/** Found while groups are merged. */
interface Findings {
  readonly conflicts: DiscoveryConflict[];
  readonly storageVersionHashes: Map<string, string>;
}

/** Merging costs by distinct sets, not by servers: servers that share a set are one source. */
function sourcesOf(views: readonly DiscoveryView[], leadingMinor: string | undefined): DiscoverySource[] {
  const named = views.map((view) => ({ ...view, id: view.serverId }));
  const leadingFirst = named.sort((left, right) => compareLeadership(left, right, leadingMinor));
  return [...Map.groupBy(leadingFirst, ({ groups }) => groups)].map(([groups, members]) => ({
    groups,
    storageVersionHashes: members.find((member) => member.storageVersionHashes)?.storageVersionHashes,
    serverIds: members.map(({ serverId }) => serverId),
    current: members.some(({ stale }) => !stale),
    reachable: members.some(({ stale, reachable = true }) => !stale && reachable),
  }));
}

function mergeVersions(
  group: string,
  contributions: readonly Contribution<APIGroupDiscovery>[],
  sources: readonly DiscoverySource[],
  findings: Findings,
): APIVersionDiscovery[] {
  const lists = contributions.map(({ source, item }) => ({ source, item: item.versions ?? [] }));
  return byName(lists, ({ version }) => version, versionOrder).map(([version, named]) => ({
    version,
    resources: mergeResources(group, version, named, findings),
    freshness: isCurrent(named, sources) ? 'Current' : 'Stale',
  }));
}

/**
 * An order that all agree on stays: it may come from an APIService's versionPriority. Else Kubernetes' order
 * of versions; upstream sorts them as plain strings, which puts v10 before v2 and v1alpha1 before v1beta1.
 */
function versionOrder(lists: readonly (readonly string[])[]): readonly string[] {
  const [leading = [], ...others] = lists.map((list) => [...new Set(list)]);
  const agreed = others.every((list) => isSameList(list, leading));
  return agreed ? leading : [...new Set(lists.flat())].sort(compareVersionPriority);
}

function mergeResources(
  group: string,
  version: string,
  contributions: readonly Contribution<APIVersionDiscovery>[],
  { conflicts, storageVersionHashes }: Findings,
): APIVersionDiscovery['resources'] {
  const lists = contributions.map(({ source, item }) => ({ source, item: item.resources ?? [] }));
  return byName(lists, ({ resource }) => resource).flatMap(([, named]) => {
    const leading = named[0]?.item;
    if (leading === undefined) return [];
    const hash = storageVersionHashOf(storageVersionName(group, leading.resource), named);
    if (hash !== undefined) {
      storageVersionHashes.set(storageVersionHashKey(group, version, leading.resource), hash);
    }
    return [mergeResource(named, leading, { group, version, conflicts })];
  });
}

/** Where servers store a resource at different versions, the leading one of those that know counts. */
function storageVersionHashOf(
  name: string,
  contributions: readonly Contribution<APIResourceDiscovery>[],
): string | undefined {
  for (const { source } of contributions) {
    const hash = source.storageVersionHashes?.[name];
    if (hash !== undefined) return hash;
  }
  return undefined;
}

/**
 * Whether every router can have the group version served: by a server that has an address, or else by its
 * own local server, if all servers serve it.
 */
function isCurrent(
  contributions: readonly Contribution<APIVersionDiscovery>[],
  sources: readonly DiscoverySource[],
): boolean {
  const counted = contributions.filter(({ source, item }) => source.current && item.freshness !== 'Stale');
  if (counted.some(({ source }) => source.reachable)) return true;
  return counted.length > 0 && new Set(contributions.map(({ source }) => source)).size === sources.length;
}
