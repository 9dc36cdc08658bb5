import { groupNameOf, groupVersionString, storageVersionName } from '../apimachinery/group-version.ts';
import { compareVersionPriority } from '../apimachinery/version-priority.ts';
import { isSameJson } from '../runtime/same-json.ts';
import { SharedWork, type Steps } from '../runtime/shared-work.ts';
import type {
  APIGroupDiscovery,
  APIResourceDiscovery,
  APISubresourceDiscovery,
  APIVersionDiscovery,
  GroupVersionKind,
} from '../snapshot/format/schema.ts';
import type { RoutingTable } from '../snapshot/routing-table/routing-table.ts';
import { compareLeadership } from './forms/leadership.ts';

/** Everything that one server serves, as its own discovery says. */
export interface DiscoveryView {
  readonly serverId: string;
  readonly version: string | undefined;
  /** The version that the server is counted as. Default: the minor version of `version`. */
  readonly minor?: string | undefined;
  /** The legacy group under the empty name. Servers that share a set share this very array. */
  readonly groups: readonly APIGroupDiscovery[];
  readonly storageVersionHashes?: Readonly<Record<string, string>> | undefined;
  /** The server could not be read this time: `groups` is the last that was known. */
  readonly stale: boolean;
  /** True if other routers have an address for the server. Default true. */
  readonly reachable?: boolean | undefined;
}

/**
 * The views a snapshot holds. A server whose set has no discovery has none.
 *
 * Where every server is stale, none is: that the whole control plane fell silent at once while routers still respond
 * is far less likely than that the sync job lost its own network. Its outage must not make clients take all of discovery
 * for unreliable: to client-go a Stale group version is one whose discovery failed (StaleGroupVersionError), which
 * for example holds up the deletion of namespaces.
 */
export function viewsOf(table: RoutingTable): DiscoveryView[] {
  const { servers, servedSets } = table.snapshot;
  const everyServerIsStale = servers.every(({ stale }) => stale === true);
  const views: DiscoveryView[] = [];
  for (const { id, version, serves, stale } of servers) {
    const { discovery: groups, storageVersionHashes } = servedSets[serves] ?? {};
    if (groups === undefined) continue;
    views.push({
      serverId: id,
      version,
      minor: table.server(id)?.minor,
      groups,
      storageVersionHashes,
      stale: stale === true && !everyServerIsStale,
      reachable: table.everyServer.reachable.some((server) => server.id === id),
    });
  }
  return views;
}

export interface MergedDiscovery {
  /** The legacy group, under the empty name, first; `freshness` is always set. */
  readonly groups: readonly APIGroupDiscovery[];
  /** By `storageVersionHashKey`: what aggregated documents cannot say and classic ones do. */
  readonly storageVersionHashes: ReadonlyMap<string, string>;
}

/** Names one resource in one version, as `batch/v1/jobs` does. */
export function storageVersionHashKey(group: string, version: string, resource: string): string {
  return `${groupVersionString(group, version)}/${resource}`;
}

/**
 * Everything that the servers of a cluster serve together: every group, version, resource, verb and subresource that at
 * least one of them serves, and nothing else. Pure; the order of `views` does not matter, nor how many servers serve
 * the same.
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
  return new SharedWork(mergeSteps(views, leadingMinor)).now();
}

/** The same, a resource at a time. */
export function* mergeSteps(
  views: readonly DiscoveryView[],
  leadingMinor: string | undefined,
): Steps<MergedDiscovery> {
  const sources = sourcesOf(views, leadingMinor);
  const storageVersionHashes = new Map<string, string>();
  const groups: APIGroupDiscovery[] = [];
  const lists = sources.map((source) => ({ source, item: source.groups }));
  for (const [name, contributions] of byName(lists, groupNameOf)) {
    const versions = yield* mergeVersions(name, contributions, sources, storageVersionHashes);
    // A group without a version is nothing one could ask for.
    if (versions.length === 0) continue;
    const group = { metadata: name === '' ? {} : { name }, versions };
    if (name === '') groups.unshift(group);
    else groups.push(group);
  }
  return { groups, storageVersionHashes };
}

/** Merging costs by distinct sets, not by servers: servers that share a set are one source. */
function sourcesOf(views: readonly DiscoveryView[], leadingMinor: string | undefined): DiscoverySource[] {
  const named = views.map((view) => ({ ...view, id: view.serverId }));
  const leadingFirst = named.sort((left, right) => compareLeadership(left, right, leadingMinor));
  return [...Map.groupBy(leadingFirst, ({ groups }) => groups)].map(([groups, members]) => ({
    groups,
    storageVersionHashes: members.find((member) => member.storageVersionHashes)?.storageVersionHashes,
    current: members.some(({ stale }) => !stale),
    reachable: members.some(({ stale, reachable = true }) => !stale && reachable),
  }));
}

function* mergeVersions(
  group: string,
  contributions: readonly Contribution<APIGroupDiscovery>[],
  sources: readonly DiscoverySource[],
  storageVersionHashes: Map<string, string>,
): Steps<APIVersionDiscovery[]> {
  const lists = contributions.map(({ source, item }) => ({ source, item: item.versions ?? [] }));
  const versions: APIVersionDiscovery[] = [];
  for (const [version, named] of byName(lists, ({ version: name }) => name, versionOrder)) {
    const resources = yield* mergeResources(group, version, named, storageVersionHashes);
    versions.push({ version, resources, freshness: isCurrent(named, sources) ? 'Current' : 'Stale' });
  }
  return versions;
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

function* mergeResources(
  group: string,
  version: string,
  contributions: readonly Contribution<APIVersionDiscovery>[],
  storageVersionHashes: Map<string, string>,
): Steps<APIResourceDiscovery[]> {
  const lists = contributions.map(({ source, item }) => ({ source, item: item.resources ?? [] }));
  const resources: APIResourceDiscovery[] = [];
  for (const [, named] of byName(lists, ({ resource }) => resource)) {
    const leading = named[0]?.item;
    if (leading === undefined) continue;
    const name = storageVersionName(group, leading.resource);
    // Where servers store it at different versions, the leading one of those that know counts.
    const hash = named
      .map(({ source }) => source.storageVersionHashes?.[name])
      .find((each) => each !== undefined);
    if (hash !== undefined) {
      storageVersionHashes.set(storageVersionHashKey(group, version, leading.resource), hash);
    }
    resources.push(...mergeResource(named));
    yield;
  }
  return resources;
}

/**
 * True if every router can have the group version served: by a server that has an address, or else by its own local
 * server, if all servers serve it.
 */
function isCurrent(
  contributions: readonly Contribution<APIVersionDiscovery>[],
  sources: readonly DiscoverySource[],
): boolean {
  const counted = contributions.filter(({ source, item }) => source.current && item.freshness !== 'Stale');
  if (counted.some(({ source }) => source.reachable)) return true;
  return counted.length > 0 && new Set(contributions.map(({ source }) => source)).size === sources.length;
}

/** The resource with the subresources of all servers. @param contributions the leading one first */
function mergeResource(contributions: readonly Contribution<APIResourceDiscovery>[]): APIResourceDiscovery[] {
  return mergeAlike(contributions, () => {
    const lists = contributions.map(({ source, item }) => ({ source, item: item.subresources ?? [] }));
    const subresources = byName(lists, ({ subresource }) => subresource).flatMap(([, named]) =>
      mergeAlike<APISubresourceDiscovery>(named, () => ({})),
    );
    return subresources.length === 0 ? {} : { subresources };
  });
}

/** Verbs of all servers, everything else as the leading one describes it. @param more what else is merged */
function mergeAlike<Item extends Described>(
  contributions: readonly Contribution<Item>[],
  more: () => Partial<Item>,
): Item[] {
  const leading = contributions[0]?.item;
  if (leading === undefined) return [];
  // Nearly all servers describe nearly everything alike: then there is nothing to build.
  if (contributions.every(({ item }) => isSameJson(item, leading))) return [leading];
  const responseKind = kindOf(contributions);
  const kind = responseKind === undefined ? {} : { responseKind };
  return [{ ...leading, ...kind, ...unitedVerbs(contributions), ...more() }];
}

interface Described {
  readonly responseKind?: GroupVersionKind | undefined;
  readonly verbs?: readonly string[] | undefined;
}

/** A list that all agree on stays as it is; else all verbs, sorted (upstream peer_aggregated_handler.go). */
function unitedVerbs(contributions: readonly Contribution<Described>[]): Pick<Described, 'verbs'> {
  const lists = contributions.map(({ item }) => item.verbs ?? []);
  const [leading = [], ...others] = lists;
  const agreed = others.every((verbs) => isSameList(verbs, leading));
  return agreed ? {} : { verbs: [...new Set(lists.flat())].sort() };
}

/** A server may list a parent without a kind, only to hang subresources on; another one may know it. */
function kindOf(contributions: readonly Contribution<Described>[]): GroupVersionKind | undefined {
  return (contributions.find(({ item }) => hasKind(item)) ?? contributions[0])?.item.responseKind;
}

function hasKind({ responseKind }: Described): boolean {
  return responseKind?.kind !== undefined && responseKind.kind !== '';
}

function isSameList(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((entry, index) => entry === other[index]);
}

/** One distinct set of groups, and the servers that serve exactly it. */
export interface DiscoverySource {
  readonly groups: readonly APIGroupDiscovery[];
  readonly storageVersionHashes?: Readonly<Record<string, string>> | undefined;
  /** At least one of the servers was read this time. */
  readonly current: boolean;
  /** At least one of those has an address. */
  readonly reachable: boolean;
}

export interface Contribution<Item> {
  readonly source: DiscoverySource;
  readonly item: Item;
}

/** The contributions of the sources to the thing of one name; the leading source first. */
type NamedContributions<Item> = readonly [name: string, contributions: readonly Contribution<Item>[]];

/**
 * Brings together what sources say of the things of one name.
 *
 * @param lists each source's own list, the leading source first. A source that lists a name twice says two
 *   things of it, and the first leads.
 * @param nameOf the name of an item
 * @param order the order of the names; default `consensusOrder`
 */
export function byName<Item>(
  lists: readonly Contribution<readonly Item[]>[],
  nameOf: (item: Item) => string,
  order: (lists: readonly (readonly string[])[]) => readonly string[] = consensusOrder,
): NamedContributions<Item>[] {
  const all = lists.flatMap(({ source, item: list }) => list.map((item) => ({ source, item })));
  const contributions = Map.groupBy(all, ({ item }) => nameOf(item));
  const names = lists.map(({ item: list }) => list.map(nameOf));
  return order(names).map((name) => [name, contributions.get(name) ?? []]);
}

/**
 * One order for the names of several lists. Deterministic; the first list keeps its order whole.
 *
 * A name that the first list lacks goes in after the neighbour it follows in its own list. Where names
 * already stand there that its list does not know, it goes among them by name. Groups come ordered by
 * priority, resources by name; both survive, which a plain sort would not let groups do.
 *
 * @param lists the leading list first; later ones in the order of their weight
 * @returns every name once
 */
export function consensusOrder(lists: readonly (readonly string[])[]): string[] {
  const [leading = [], ...others] = lists;
  const placed = new Set(leading);
  const order = [...placed];
  for (const list of others) {
    let known: ReadonlySet<string> | undefined;
    let previous: string | undefined;
    for (const name of list) {
      if (!placed.has(name)) {
        known ??= new Set(list);
        order.splice(placeFor(name, previous, order, known), 0, name);
        placed.add(name);
      }
      previous = name;
    }
  }
  return order;
}

function placeFor(
  name: string,
  previous: string | undefined,
  order: readonly string[],
  known: ReadonlySet<string>,
): number {
  let place = previous === undefined ? 0 : order.indexOf(previous) + 1;
  for (; place < order.length; place++) {
    const next = order[place];
    if (next === undefined || known.has(next) || next > name) break;
  }
  return place;
}
