import { minorVersion } from '../../apimachinery/server-version.ts';
import { parseRfc3339 } from '../../runtime/rfc3339.ts';
import type { Snapshot, SnapshotApiService, SnapshotServer } from '../format/types.ts';
import { indexResources, mapValues, usedSetsOf } from './resource-index.ts';
import type { MissingKnowledge, RoutingServer, RoutingTable } from './routing-table.ts';
import { servedByServers } from './served-by.ts';
import { compareVersions } from './version-comparison.ts';

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
