import type { RequestInfo } from '../apimachinery/request-info.ts';
import { parseDiscoveryPath } from '../discovery/discovery-path.ts';
import { openApiV2Path } from '../discovery/openapi-v2/server-document.ts';
import { hasDifferingServers } from '../discovery/openapi-v2/sources.ts';
import { openApiV3Servers } from '../discovery/openapi-v3.ts';
import type { RoutingTable } from '../snapshot/routing-table.ts';
import { inPlaceOfLocal } from './any-server.ts';
import type { Decision, DecisionContext } from './decision.ts';

const mergedByTheRouter: Decision = Object.freeze({
  decision: 'local',
  reason: 'MergedDocument',
  candidates: [] as const,
});

/**
 * The exceptions of rule 1: discovery is merged by the router itself, once the local server has let the caller
 * read the path; an OpenAPI v3 document is one server's own and comes from a server that holds it. `undefined`
 * for everything else, and for whoever is to see the local view: a peer that rerouted the request, or anyone
 * while nothing current is known of the cluster. Pure.
 */
export function decideDocument(
  requestInfo: RequestInfo,
  table: RoutingTable | undefined,
  context: DecisionContext,
): Decision | undefined {
  const known = knowledgeFor(table, context);
  if (known === undefined) return undefined;
  if (isMerged(requestInfo, known)) return inPlaceOfLocal(mergedByTheRouter, known.reachable, context);
  const holders = openApiV3Servers(requestInfo.path, context.query ?? '', known);
  if (holders === undefined) return undefined;
  const { serverId, localServerIsDown = false } = context;
  const others = holders.reachable.filter(({ id }) => id !== serverId);
  const isHeldLocally = serverId !== undefined && !localServerIsDown && holders.serverIds.has(serverId);
  if (isHeldLocally || others.length === 0) return undefined;
  return { decision: 'peer', reason: 'MergedDocument', candidates: others };
}

/**
 * Whether the router answers itself, as far as method and path tell: the form asked for may not be merged, or a
 * document may not be ready yet.
 */
function isMerged({ verb, path }: RequestInfo, table: RoutingTable): boolean {
  if (verb !== 'get' && verb !== 'head') return false;
  // Where all serve the same, what the local server says is never out of date.
  if (path === openApiV2Path) return hasDifferingServers(table);
  const document = parseDiscoveryPath(path);
  if (document === undefined) return false;
  if (document.kind === 'openapi-v3' && !hasDifferingServers(table)) return false;
  return Object.values(table.snapshot.servedSets).some(({ discovery, openapiV3 }) =>
    document.kind === 'openapi-v3' ? openapiV3 !== undefined : discovery !== undefined,
  );
}

/** The table, if documents may be made from it for this request. */
function knowledgeFor(
  table: RoutingTable | undefined,
  context: Pick<DecisionContext, 'now' | 'stalePolicy' | 'reroutedByVerifiedPeer'>,
): RoutingTable | undefined {
  if (table === undefined || context.reroutedByVerifiedPeer) return undefined;
  const expired = context.now >= table.expiresAt;
  return expired && context.stalePolicy !== 'serve-stale' ? undefined : table;
}
