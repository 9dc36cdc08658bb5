import { parseStorageVersionName, storageVersionName } from '../../apimachinery/group-version.ts';
import { minorVersion } from '../../apimachinery/server-version.ts';
import { parseRfc3339 } from '../../runtime/time.ts';
import type { ServedSet, Snapshot, SnapshotApiService, SnapshotServer } from '../format/schema.ts';
import type {
  MissingKnowledge,
  ResourceRoute,
  RoutingServer,
  RoutingTable,
  ServedBy,
} from './routing-table.ts';
import {
  type ComparedServers,
  cannotDecode,
  compareVersions,
  differs,
  servedByServers,
} from './served-by.ts';

/** The name every kube-apiserver's serving certificate carries, at every address (KEP-4020). */
const defaultServerName = 'kubernetes.default.svc';

/**
 * Indexes a snapshot for lookup. Everything is worked out here, so that a lookup is a few map reads and
 * allocates nothing. Servers that serve the same share the objects that say so: the table grows with the
 * number of differing sets, not of servers.
 *
 * @param snapshot one that `parseSnapshot` accepted. Not copied: it must not be changed afterwards.
 * @param notKnown servers that are not known, by ID. Default: those that the snapshot says so of
 * @throws {TypeError} when it is one that `parseSnapshot` would have refused and no table can be made of it.
 *
 * @example
 * ```ts
 * const result = await parseSnapshot(snapshot);
 * if (result.ok) {
 *   const table = buildRoutingTable(result.snapshot);
 *   console.log(table.servers.length); // 3
 * }
 * ```
 */
export function buildRoutingTable(
  snapshot: Snapshot,
  notKnown: ReadonlyMap<string, MissingKnowledge> = notReadIn(snapshot),
): RoutingTable {
  const servers = Object.freeze(
    snapshot.servers.map((server) => routingServer(server, notKnown.get(server.id))).sort(byId),
  );
  const serversById = new Map(servers.map((server) => [server.id, server]));
  if (serversById.size !== servers.length) throw new TypeError('Two servers of the snapshot have one ID.');

  const usedSets = usedSetsOf(snapshot, serversById);
  const index = indexResources(usedSets);
  const everyServer = servedByServers(servers);
  const extensions = indexExtensions(snapshot.apiServices);
  const customResources = indexCustomResources(snapshot.customResourceGroups);

  const { generation, createdAt } = snapshot.metadata;
  return Object.freeze<RoutingTable>({
    snapshot,
    generation,
    createdAt: timeOf(createdAt),
    servers,
    reachable: everyServer.reachable,
    everyServer,
    isEveryServerKnown: servers.every(({ missing }) => missing === undefined || missing === 'down'),
    comparison: compareVersions(usedSets, snapshot.metadata.versionChanges),
    server: (id) => serversById.get(id),
    resource: (group, version, resource) => index.get(group)?.get(version)?.get(resource),
    extension: (group, version) => extensions.get(group)?.get(version),
    isCustomResource: (group, version) => customResources.get(group)?.has(version) === true,
  });
}

/**
 * The same table with another time of making, for a renewal: the lookups are shared, nothing is indexed again.
 * `snapshot.metadata` still says what was pushed; `createdAt` of the table is what counts.
 */
export function renewedTable(table: RoutingTable, createdAt: string): RoutingTable {
  return Object.freeze({ ...table, createdAt: timeOf(createdAt) });
}

function timeOf(createdAt: string): number {
  const created = parseRfc3339(createdAt);
  if (created === undefined)
    throw new TypeError(`The snapshot's time of making cannot be read: ${createdAt}.`);
  return created;
}

/** Servers of which the snapshot itself says that another process runs them than the one that was read. */
export function notReadIn({ servers }: Snapshot): ReadonlyMap<string, MissingKnowledge> {
  const unread = servers.filter((server) => server.unread === true);
  return new Map(unread.map(({ id }) => [id, 'served-set']));
}

function routingServer(server: SnapshotServer, missing: MissingKnowledge | undefined): RoutingServer {
  const { id, url, serverName, version, stale, departedAt, advertised } = server;
  const departed = departedAt !== undefined;
  const address = advertised?.address ?? server.address;
  const origin = address === undefined ? url : `https://${address}`;
  const addressSource = advertised === undefined ? server.addressSource : 'advertised';
  return Object.freeze({
    id,
    // What responds there meanwhile need not be it.
    origin: departed ? undefined : origin,
    ...(departed || addressSource === undefined ? {} : { addressSource }),
    serverName: serverName ?? defaultServerName,
    version,
    minor: minorVersion(version),
    stale: stale === true,
    departed,
    ...(missing === undefined ? {} : { missing }),
  });
}

function byId(left: RoutingServer, right: RoutingServer): number {
  return left.id < right.id ? -1 : 1;
}

function indexExtensions(
  apiServices: readonly SnapshotApiService[],
): ReadonlyMap<string, ReadonlyMap<string, SnapshotApiService>> {
  // Without a service the API servers themselves serve it: nothing is to be routed elsewhere.
  const extensions = apiServices.filter(({ service }) => service !== undefined);
  const groups = Map.groupBy(extensions, ({ group }) => group);
  return mapValues(groups, (members) => new Map(members.map((member) => [member.version, member])));
}

function indexCustomResources(
  groupVersions: Snapshot['customResourceGroups'],
): ReadonlyMap<string, ReadonlySet<string>> {
  const groups = Map.groupBy(groupVersions, ({ group }) => group);
  return mapValues(groups, (members) => new Set(members.map(({ version }) => version)));
}

type ResourceIndex = ReadonlyMap<string, ReadonlyMap<string, ReadonlyMap<string, ResourceRoute>>>;

/** Facts about one group/version/resource, gathered before its route is made. Numbers index the used sets. */
interface Gathered {
  readonly sets: number[];
  /** Of those, the ones without any knowledge of subresources. */
  readonly unknowing: number[];
  /** Subresource to the sets that are known to serve it. */
  readonly subresources: Map<string, number[]>;
}

function indexResources(usedSets: readonly ComparedServers[]): ResourceIndex {
  const gathered = new Map<string, Map<string, Map<string, Gathered>>>();
  usedSets.forEach(({ set }, number) => {
    gather(gathered, set, number);
  });

  const servedBy = servedBySets(usedSets);
  return mapValues(gathered, (versions, group) =>
    mapValues(versions, (resources, version) =>
      mapValues(resources, (entry, resource) => {
        const compared = entry.sets.flatMap((number) => usedSets[number] ?? []);
        const name = storageVersionName(group, resource);
        return routeOf(entry, servedBy, differs(compared, name, version), cannotDecode(compared, name));
      }),
    ),
  );
}

/** @throws {TypeError} for a server whose set the snapshot does not have */
function usedSetsOf(snapshot: Snapshot, serversById: ReadonlyMap<string, RoutingServer>): ComparedServers[] {
  const sets = new Map(Object.entries(snapshot.servedSets));
  return [...Map.groupBy(snapshot.servers, ({ serves }) => serves)].map(([serves, members]) => {
    const set = sets.get(serves);
    if (set === undefined) {
      throw new TypeError(
        `Server ${members[0]?.id} serves the set ${serves}, which the snapshot does not have.`,
      );
    }
    return { set, servers: members.flatMap(({ id }) => serversById.get(id) ?? []) };
  });
}

function gather(
  gathered: Map<string, Map<string, Map<string, Gathered>>>,
  set: ServedSet,
  number: number,
): void {
  // Maps, so that a resource called `constructor` or `toString` is a name like any other.
  const known = set.subresources && new Map(Object.entries(set.subresources));
  for (const [name, servedVersions] of Object.entries(set.storageVersions)) {
    const parsed = parseStorageVersionName(name);
    if (parsed === undefined) throw new TypeError(`${name} is not of the form <group>.<resource>.`);
    const knownVersions = new Map(Object.entries(known?.get(name) ?? {}));
    for (const version of servedVersions) {
      const entry = entryOf(gathered, parsed.group, version, parsed.resource);
      addOnce(entry.sets, number);
      if (known === undefined) {
        addOnce(entry.unknowing, number);
        continue;
      }
      for (const subresource of knownVersions.get(version) ?? []) {
        const sets = entry.subresources.get(subresource) ?? [];
        addOnce(sets, number);
        entry.subresources.set(subresource, sets);
      }
    }
  }
}

function entryOf(
  gathered: Map<string, Map<string, Map<string, Gathered>>>,
  group: string,
  version: string,
  resource: string,
): Gathered {
  const versions = gathered.get(group) ?? new Map<string, Map<string, Gathered>>();
  gathered.set(group, versions);
  const resources = versions.get(version) ?? new Map<string, Gathered>();
  versions.set(version, resources);
  const entry = resources.get(resource) ?? { sets: [], unknowing: [], subresources: new Map() };
  resources.set(resource, entry);
  return entry;
}

/** Sets are visited in order, so a number that is there already (a version listed twice) is the last one. */
function addOnce(numbers: number[], number: number): void {
  if (numbers.at(-1) !== number) numbers.push(number);
}

function routeOf(
  entry: Gathered,
  servedBy: (sets: readonly number[]) => ServedBy | undefined,
  isDiffering: boolean,
  cannotDecode: ReadonlySet<string>,
): ResourceRoute {
  const fallback = servedBy(entry.unknowing);
  // A server that knows nothing of subresources is taken to serve this one too (see ServedSet.subresources).
  const subresources = mapValues(entry.subresources, (sets) => servedBy([...sets, ...entry.unknowing]));
  return Object.freeze<ResourceRoute>({
    ...(servedBy(entry.sets) ?? servedByNone),
    differs: isDiffering,
    cannotDecode,
    subresource: (name) => subresources.get(name) ?? fallback,
  });
}

const servedByNone = servedByServers([]);

/** Makes one `ServedBy` for each combination of sets that occurs, and hands the same one out ever after. */
function servedBySets(
  usedSets: readonly ComparedServers[],
): (sets: readonly number[]) => ServedBy | undefined {
  const made = new Map<string, ServedBy>();
  return (sets) => {
    if (sets.length === 0) return undefined;
    const key = sets.toSorted((left, right) => left - right).join(' ');
    const known = made.get(key);
    if (known !== undefined) return known;
    const servedBy = servedByServers(sets.flatMap((number) => usedSets[number]?.servers ?? []));
    made.set(key, servedBy);
    return servedBy;
  };
}

function mapValues<Value, Result>(
  map: ReadonlyMap<string, Value>,
  convert: (value: Value, key: string) => Result,
): Map<string, Result> {
  const result = new Map<string, Result>();
  for (const [key, value] of map) result.set(key, convert(value, key));
  return result;
}
