import { firstHeader } from '../apimachinery/raw-headers.ts';
import { serveDiscovery } from '../discovery/documents.ts';
import { queryOf } from '../request/inbound.ts';
import type { AdmittedRequest } from '../request/router.ts';
import { mayUsePeers } from '../routing/decide-document.ts';
import { defaultStalePolicy } from '../routing/decision.ts';
import { buildRoutingTable } from '../snapshot/routing-table/build-routing-table.ts';
import type { RoutingTable } from '../snapshot/routing-table/routing-table.ts';
import { localServerId, type MixedVersionProxyOptions } from './options.ts';

/** Given the code of a server's response: the response in its place, or `undefined` to pass it on. */
export type Replacement = (status: number) => Response | undefined;

/** The router's options that a merged document needs. */
export type MergedDocumentOptions = Pick<
  MixedVersionProxyOptions,
  'serverId' | 'local' | 'stalePolicy' | 'preferredVersion' | 'clock'
>;

/**
 * A merged discovery document or OpenAPI index, as the response to those whom the API server lets read its path:
 * authorisation is the API server's, the merged content ours.
 */
export async function mergedDocument(
  { inbound, requestInfo }: AdmittedRequest,
  table: RoutingTable,
  options: MergedDocumentOptions,
): Promise<Replacement | undefined> {
  const { stalePolicy = defaultStalePolicy, clock = Date.now } = options;
  const serverId = localServerId(options);
  const { headers } = inbound;
  const asked = {
    method: inbound.method,
    path: requestInfo.path,
    query: queryOf(inbound.target),
    accept: firstHeader(headers, 'accept'),
    acceptEncoding: firstHeader(headers, 'accept-encoding'),
    ifNoneMatch: firstHeader(headers, 'if-none-match'),
  };
  let wasMade: boolean | undefined;
  const onAggregated = (isMade: boolean): void => {
    wasMade = isMade;
  };
  const known = mayUsePeers(table, { now: clock(), stalePolicy }) ? table : withoutPeers(table, serverId);
  const document = await serveDiscovery(asked, known, { localServerId: serverId, onAggregated });
  return (
    document &&
    ((status) => {
      if (!isAllowed(status)) return undefined;
      if (wasMade !== undefined) inbound.observed?.aggregatedDiscovery(wasMade);
      return document;
    })
  );
}

const tablesWithoutPeers = new WeakMap<RoutingTable, RoutingTable>();

/**
 * The table of an expired snapshot that the policy does not trust: it tells what peers serve, but not whether they
 * can still be reached. Which version its documents speak for stays. Built once for each table: a router has one
 * local server.
 */
function withoutPeers(table: RoutingTable, serverId: string | undefined): RoutingTable {
  const known = tablesWithoutPeers.get(table);
  if (known !== undefined) return known;
  const { snapshot, leadingMinor } = table;
  const servers = snapshot.servers.map((server) => {
    if (server.id === serverId) return server;
    const { address: _address, advertised: _advertised, url: _url, ...unreachable } = server;
    return { ...unreachable, stale: true };
  });
  const made = Object.freeze({ ...buildRoutingTable({ ...snapshot, servers }), leadingMinor });
  tablesWithoutPeers.set(table, made);
  return made;
}

/** The server let the caller read the path, whether or not it has the document (or in that form). */
function isAllowed(status: number): boolean {
  return (status >= 200 && status < 300) || status === 304 || status === 404 || status === 406;
}
