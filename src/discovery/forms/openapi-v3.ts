import type { ServedSet } from '../../snapshot/format/schema.ts';
import type { RoutingServer, RoutingTable, ServedBy } from '../../snapshot/routing-table/routing-table.ts';
import { servedByServers } from '../../snapshot/routing-table/served-by.ts';

const documentPrefix = '/openapi/v3/';

export interface Holder {
  readonly server: RoutingServer;
  /** Path in the index to the server's own `serverRelativeURL`. */
  readonly urls: Readonly<Record<string, string>>;
  readonly set: ServedSet | undefined;
}

/** The documents that one server lists now. The snapshot's word holds for the other servers. */
export interface ListedNow {
  readonly serverId: string;
  readonly urls: Readonly<Record<string, string>>;
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

export function holdersOf(table: RoutingTable, listed?: ListedNow): Holder[] {
  return table.snapshot.servers.flatMap(({ id, serves }) => {
    const server = table.server(id);
    const set = table.snapshot.servedSets[serves];
    const urls = id === listed?.serverId ? listed.urls : set?.openapiV3;
    return server === undefined || urls === undefined ? [] : [{ server, urls, set }];
  });
}

/** `/openapi/v3/apis/batch/v1?hash=<upper-case hexadecimal>` (k8s.io/kube-openapi pkg/handler3/handler.go). */
function hashOf(serverRelativeURL: string | undefined): string | null {
  const queryStart = serverRelativeURL?.indexOf('?') ?? -1;
  if (serverRelativeURL === undefined || queryStart === -1) return null;
  return new URLSearchParams(serverRelativeURL.slice(queryStart + 1)).get('hash');
}
