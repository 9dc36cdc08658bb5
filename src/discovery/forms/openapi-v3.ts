import { parseStorageVersionName } from '../../apimachinery/group-version.ts';
import type { Steps } from '../../runtime/time.ts';
import type { ServedSet } from '../../snapshot/format/schema.ts';
import type { RoutingServer, RoutingTable, ServedBy } from '../../snapshot/routing-table/routing-table.ts';
import { compareLeadership, servedByServers } from '../../snapshot/routing-table/served-by.ts';

const documentPrefix = '/openapi/v3/';

/** A server that lists OpenAPI v3 documents. */
interface Holder {
  readonly server: RoutingServer;
  /** Path in the index to the server's own `serverRelativeURL`. */
  readonly urls: Readonly<Record<string, string>>;
  readonly set: ServedSet | undefined;
}

/** What one server lists now. The snapshot's word holds for the others. */
interface ListedNow {
  readonly serverId: string;
  readonly urls: Readonly<Record<string, string>>;
}

/**
 * The index `/openapi/v3` of all servers together, paths in alphabetical order as API servers write them.
 *
 * Where servers hold different documents under a path, the URL of one is given, with its hash, by which
 * `openApiV3Servers` finds that document again. It is chosen by these rules, in this order:
 *
 * - for custom resources and aggregated APIs, which are the same objects for all servers, what is listed now;
 * - a server that can be reached;
 * - the server that serves the most resources in the group version: documents are not merged, and `kubectl explain` is
 *   to find what any server has;
 * - leadership (`compareLeadership`).
 *
 * @returns `undefined` when no server's index is known
 */
export function* openApiV3Index(table: RoutingTable, listed?: ListedNow): Steps<object | undefined> {
  const holders = holdersOf(table, listed).sort(
    (left, right) =>
      Number(isReachable(right.server)) - Number(isReachable(left.server)) ||
      compareLeadership(left.server, right.server, table.leadingMinor),
  );
  if (holders.length === 0) return undefined;
  const sets = new Set(holders.map(({ set }) => set));
  const counts = new Map<ServedSet | undefined, ReadonlyMap<string, number>>();
  for (const set of sets) {
    counts.set(set, resourcesByPath(set));
    yield;
  }
  const resourcesOf = ({ set }: Holder, path: string) => counts.get(set)?.get(path) ?? 0;
  const best = new Map<string, Holder>();
  const seen = new Set<Holder['urls']>();
  for (const holder of holders) {
    // A server that lists what a better one does, too, is nowhere the best.
    if (seen.has(holder.urls)) continue;
    seen.add(holder.urls);
    yield;
    for (const path of Object.keys(holder.urls)) {
      const other = best.get(path);
      const isBetter =
        other === undefined ||
        (isReachable(holder.server) === isReachable(other.server) &&
          resourcesOf(holder, path) > resourcesOf(other, path));
      if (isBetter) best.set(path, holder);
    }
  }
  const urls = Object.fromEntries([...best].map(([path, holder]) => [path, holder.urls[path]]));
  for (const [path, url] of Object.entries(listed?.urls ?? {})) {
    if (!Object.hasOwn(urls, path) || isShared(table, path)) urls[path] = url;
  }
  const paths = Object.keys(urls).sort();
  return { paths: Object.fromEntries(paths.map((path) => [path, { serverRelativeURL: urls[path] }])) };
}

/**
 * Which servers can serve a request for an OpenAPI v3 document: those that hold exactly the one whose hash
 * is asked for; else, and where none of those can be reached, all that have the path, as a server redirects a hash
 * it does not know to its own.
 *
 * @param path the decoded path, for example `/openapi/v3/apis/batch/v1`
 * @param query the query without `?`
 * @param downServerId a server that cannot be reached although it has an address
 * @returns `undefined` for any other path, and when no server is known to have the document
 */
export function openApiV3Servers(
  path: string,
  query: string,
  table: RoutingTable,
  downServerId?: string,
): ServedBy | undefined {
  if (!path.startsWith(documentPrefix)) return undefined;
  const name = path.slice(documentPrefix.length);
  const hash = new URLSearchParams(query).get('hash');
  const having: RoutingServer[] = [];
  const holding: RoutingServer[] = [];
  for (const { server, urls } of holdersOf(table)) {
    if (!Object.hasOwn(urls, name)) continue;
    having.push(server);
    if (hash !== null && hashOf(urls[name]) === hash) holding.push(server);
  }
  const isHeld = holding.some(
    ({ id, origin, missing }) => origin !== undefined && missing === undefined && id !== downServerId,
  );
  const chosen = new Set(isHeld ? holding : having);
  if (chosen.size === 0) return undefined;
  const servers = table.servers.filter((server) => chosen.has(server));
  return servedByServers(servers);
}

/** Whether it is of custom resources or of an aggregated API. */
function isShared(table: RoutingTable, path: string): boolean {
  const [, group, version] = /^apis\/([^/]+)\/([^/]+)$/.exec(path) ?? [];
  if (group === undefined || version === undefined) return false;
  return table.isCustomResource(group, version) || table.extension(group, version) !== undefined;
}

/** Whether any server's index is known. */
export function hasOpenApiV3Index(table: RoutingTable): boolean {
  return holdersOf(table).length > 0;
}

export function openApiV3UrlsOf(
  table: RoutingTable,
  serverId: string,
): Readonly<Record<string, string>> | undefined {
  return holdersOf(table).find(({ server }) => server.id === serverId)?.urls;
}

function holdersOf(table: RoutingTable, listed?: ListedNow): Holder[] {
  return table.snapshot.servers.flatMap(({ id, serves }) => {
    const server = table.server(id);
    const set = table.snapshot.servedSets[serves];
    const urls = id === listed?.serverId ? listed.urls : set?.openapiV3;
    return server === undefined || urls === undefined ? [] : [{ server, urls, set }];
  });
}

/** Path in the index to how many resources a server of the set serves in that group version. */
function resourcesByPath(set: ServedSet | undefined): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const [name, versions] of Object.entries(set?.storageVersions ?? {})) {
    const group = parseStorageVersionName(name)?.group;
    for (const version of versions) {
      const path = group === '' ? `api/${version}` : `apis/${group}/${version}`;
      counts.set(path, (counts.get(path) ?? 0) + 1);
    }
  }
  return counts;
}

function isReachable({ origin, stale }: RoutingServer): boolean {
  return origin !== undefined && !stale;
}

/** `/openapi/v3/apis/batch/v1?hash=<upper-case hexadecimal>` (k8s.io/kube-openapi pkg/handler3/handler.go). */
function hashOf(serverRelativeURL: string | undefined): string | null {
  const queryStart = serverRelativeURL?.indexOf('?') ?? -1;
  if (serverRelativeURL === undefined || queryStart === -1) return null;
  return new URLSearchParams(serverRelativeURL.slice(queryStart + 1)).get('hash');
}
