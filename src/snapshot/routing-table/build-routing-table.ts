import { groupVersionString, storageVersionName } from '../../apimachinery/group-version.ts';
import { countedVersionOf, shortVersionNames } from '../../apimachinery/server-version.ts';
import { parseRfc3339 } from '../../runtime/time.ts';
import type { Snapshot, SnapshotServer } from '../format/schema.ts';
import {
  type MissingKnowledge,
  mayComeBack,
  type ResourceRoute,
  type RoutingServer,
  type RoutingTable,
  type ServedBy,
} from './routing-table.ts';
import { type ComparedServers, compareVersions, differs, own, servedByServers } from './served-by.ts';
import { changesIn, type TimedChange } from './version-instants.ts';

/** The name every kube-apiserver's serving certificate carries, at every address (KEP-4020). */
const defaultServerName = 'kubernetes.default.svc';

/**
 * Makes a snapshot ready for lookup. The route of a resource is worked out when it is first asked for, from the few sets
 * that differ: making a table costs by servers, not by resources.
 *
 * @param snapshot one that `parseSnapshot` accepted. Not copied: it must not be changed afterwards.
 * @param notKnown servers that are not known, by ID. Default: those that the snapshot says so of
 * @param changes with instants by the clock that decides (`VersionInstants`). Default: as the snapshot has them
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
  changes: readonly TimedChange[] = changesIn(snapshot),
): RoutingTable {
  const { generation, createdAt } = snapshot.metadata;
  const nameOf = shortVersionNames([
    ...snapshot.servers.map(countedVersionOf),
    ...changes.flatMap(({ from, to }) => [from, to]),
  ]);
  const servers = Object.freeze(
    snapshot.servers.map((server) => routingServer(server, nameOf, notKnown.get(server.id))).sort(byId),
  );
  const serversById = new Map(servers.map((server) => [server.id, server]));
  if (serversById.size !== servers.length) throw new TypeError('Two servers of the snapshot have one ID.');

  const usedSets = usedSetsOf(snapshot, serversById);
  const everyServer = servedByServers(servers);
  // Without a service the API servers themselves serve it: nothing is to be routed elsewhere.
  const extensions = new Map(
    snapshot.apiServices.flatMap((each) =>
      each.service === undefined ? [] : [[groupVersionOf(each), each]],
    ),
  );
  const customResources = new Set(snapshot.customResourceGroups.map(groupVersionOf));

  const named = changes.map(({ from, to, ...change }) => ({
    ...change,
    from: from && nameOf(from),
    to: to && nameOf(to),
  }));
  return Object.freeze<RoutingTable>({
    snapshot,
    generation,
    createdAt: timeOf(createdAt),
    servers,
    reachable: everyServer.reachable,
    everyServer,
    isEveryServerKnown: servers.every(({ missing }) => !mayComeBack(missing)),
    comparison: compareVersions(usedSets, named),
    changes,
    server: (id) => serversById.get(id),
    resource: routesOf(usedSets),
    extension: (group, version) => extensions.get(groupVersionString(group, version)),
    isCustomResource: (group, version) => customResources.has(groupVersionString(group, version)),
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
  return new Map(unread.map(({ id }) => [id, 'unverified']));
}

function routingServer(
  server: SnapshotServer,
  nameOf: (version: string) => string,
  missing: MissingKnowledge | undefined,
): RoutingServer {
  const { id, serverName, version, stale, departedAt, advertised, featureGates } = server;
  const counted = countedVersionOf(server);
  const departed = departedAt !== undefined;
  const addressSource = advertised === undefined ? server.addressSource : 'advertised';
  return Object.freeze({
    id,
    // Another server may respond there meanwhile.
    origin: departed ? undefined : originOf(server),
    ...(departed || addressSource === undefined ? {} : { addressSource }),
    serverName: serverName ?? defaultServerName,
    version,
    minor: counted && nameOf(counted),
    ...(featureGates === undefined ? {} : { featureGates }),
    stale: stale === true,
    departed,
    ...(missing === undefined ? {} : { missing }),
  });
}

/** Where it is, or was before it departed. */
export function originOf({ advertised, address, url }: SnapshotServer): string | undefined {
  const at = advertised?.address ?? address;
  return at === undefined ? url : `https://${at}`;
}

function byId(left: RoutingServer, right: RoutingServer): number {
  return left.id < right.id ? -1 : 1;
}

function groupVersionOf({ group, version }: { readonly group: string; readonly version: string }): string {
  return groupVersionString(group, version);
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

function routesOf(usedSets: readonly ComparedServers[]): RoutingTable['resource'] {
  const servedBy = servedBySets();
  /** By group, version and resource. Only what is served, so that names that clients make up take no memory. */
  const routes = new Map<string, Map<string, Map<string, ResourceRoute>>>();
  return (group, version, resource) => {
    const known = routes.get(group)?.get(version)?.get(resource);
    if (known !== undefined) return known;
    const route = routeOf(usedSets, group, version, resource, servedBy);
    if (route === undefined) return undefined;
    const versions = routes.get(group) ?? new Map<string, Map<string, ResourceRoute>>();
    const resources = versions.get(version) ?? new Map<string, ResourceRoute>();
    routes.set(group, versions.set(version, resources.set(resource, route)));
    return route;
  };
}

function routeOf(
  usedSets: readonly ComparedServers[],
  group: string,
  version: string,
  resource: string,
  servedBy: (sets: readonly ComparedServers[]) => ServedBy | undefined,
): ResourceRoute | undefined {
  // Neither can be in such a name, which would be that of another resource.
  if (group === 'core' || resource.includes('.')) return undefined;
  const name = storageVersionName(group, resource);
  const serving = usedSets.filter(({ set }) => own(set.storageVersions, name)?.includes(version) === true);
  const served = servedBy(serving);
  if (served === undefined) return undefined;
  const below = ({ set }: ComparedServers) => own(own(set.subresources, name), version) ?? [];
  // A server that knows nothing of subresources is taken to serve this one too (see ServedSet.subresources).
  const servesBelow = (subresource: string) =>
    servedBy(
      serving.filter((each) => each.set.subresources === undefined || below(each).includes(subresource)),
    );
  const subresources = new Map(serving.flatMap(below).map((each) => [each, servesBelow(each)]));
  const fallback = servedBy(serving.filter(({ set }) => set.subresources === undefined));
  return Object.freeze<ResourceRoute>({
    ...served,
    differs: differs(serving, name, version),
    subresource: (each) => subresources.get(each) ?? fallback,
  });
}

/** Makes one `ServedBy` for each combination of sets that occurs, and hands the same one out ever after. */
function servedBySets(): (sets: readonly ComparedServers[]) => ServedBy | undefined {
  const made = new Map<string, ServedBy>();
  return (sets) => {
    const servers = sets.flatMap((each) => each.servers);
    // A server has one set, so the first of each tells them apart.
    const key = sets.map((each) => each.servers[0]?.id).join(' ');
    if (servers.length === 0) return undefined;
    const servedBy = made.get(key) ?? servedByServers(servers);
    made.set(key, servedBy);
    return servedBy;
  };
}
