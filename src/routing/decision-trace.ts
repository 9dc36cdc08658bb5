import type { SnapshotApiService } from '../snapshot/format/schema.ts';
import type {
  RoutingServer,
  RoutingTable,
  ServedBy,
  ServersOfVersion,
} from '../snapshot/routing-table/routing-table.ts';
import type { DecisionContext } from './decision.ts';
import { comingPreference } from './preferred-version.ts';

export function describeLocal(
  servedBy: ServedBy | undefined,
  { serverId, localServerIsDown }: DecisionContext,
): string {
  const isDown = localServerIsDown === true ? ', which is down' : '';
  const local = serverId === undefined ? 'no server is local to a gateway' : `local is ${serverId}${isDown}`;
  return `served by ${describeServers(servedBy)}; ${local}`;
}

export function describePreference(
  byPreference: readonly ServersOfVersion[] | undefined,
  table: RoutingTable,
  { serverId, preferredVersion, now }: DecisionContext,
): string {
  const [first] = byPreference ?? [];
  if (byPreference === undefined || first === undefined) return 'the servers that serve it agree';
  const order = byPreference.map(({ minor = 'unknown' }) => minor).join(', ');
  const isLocals = serverId !== undefined && first.serverIds.has(serverId);
  const coming = comingPreference(table, preferredVersion, now);
  const changes = coming && `; from ${new Date(coming.at).toISOString()} on ${coming.minor} is the first`;
  const why = table.comparison?.isComplete === false ? 'are not compared yet' : 'differ';
  return `its servers ${why}; versions in order of preference: ${order}${isLocals ? '; the local server has the first' : ''}${changes ?? ''}`;
}

export function describeReachable(reachable: readonly RoutingServer[]): string {
  return `reachable: ${reachable.map(({ id }) => id).join(', ') || 'none'}`;
}

export function describeNobody(
  notKnown: readonly RoutingServer[],
  { serverId }: Pick<DecisionContext, 'serverId'>,
): string {
  if (notKnown.length > 0) {
    return `but what these serve is not known yet: ${notKnown.map(describeServer).join(', ')}`;
  }
  return `${serverId === undefined ? 'any' : 'the local'} server responds with 404 itself`;
}

export function describeServers(servedBy: ServedBy | undefined): string {
  return servedBy === undefined ? 'no server' : servedBy.servers.map(describeServer).join(', ');
}

function describeServer({ id, departed, missing }: RoutingServer): string {
  if (missing !== undefined) return `${id} (not known: ${missing})`;
  return departed ? `${id} (departed)` : id;
}

export function describeExtension(apiService: SnapshotApiService | undefined): string {
  if (apiService?.service === undefined) return 'no APIService with a service';
  const { namespace, name } = apiService.service;
  return `${name}.${namespace}.svc, ${apiService.available ? 'available' : 'not available'}`;
}
