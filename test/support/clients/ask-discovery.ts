import assert from 'node:assert/strict';
import { type DiscoveryRequest, mergedDiscovery } from '../../../src/discovery/documents.ts';
import { servedSetFromDiscovery } from '../../../src/discovery/forms/aggregated.ts';
import type { APIGroupDiscovery } from '../../../src/snapshot/format/schema.ts';
import { buildRoutingTable } from '../../../src/snapshot/routing-table/build-routing-table.ts';
import type { RoutingTable } from '../../../src/snapshot/routing-table/routing-table.ts';
import { recordedSnapshot, snapshotOfSets } from '../api-servers/recorded-cluster.ts';

export const aggregatedV2 = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
export const aggregatedV2beta1 = 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList';

/** Two servers of 1.26, a without `batch/v1`. */
export const recordedTable = buildRoutingTable(recordedSnapshot('kubernetes-1.26-batch-disabled'));

/** Answer of a router in front of server a; by default to a GET over `recordedTable`. */
export function ask(
  path: string,
  rest: Partial<DiscoveryRequest> = {},
  table: RoutingTable = recordedTable,
  localServerId = 'a',
): Promise<Response | undefined> | undefined {
  const merged = mergedDiscovery({ method: 'GET', path, ...rest }, table, { localServerId });
  return merged?.isKnown === true ? merged.respond() : undefined;
}

/** The same, where the local server must not be the one to answer. */
export async function answered(
  path: string,
  rest?: Partial<DiscoveryRequest>,
  table?: RoutingTable,
): Promise<Response> {
  const response = await ask(path, rest, table);
  assert.ok(response, `${path} was left to the local server`);
  return response;
}

/** Server a serves `groups`, server b nothing. */
export function tableOf(groups: readonly APIGroupDiscovery[]): RoutingTable {
  return buildRoutingTable(
    snapshotOfSets({
      a: { set: servedSetFromDiscovery(groups) },
      b: { set: servedSetFromDiscovery([]) },
    }),
  );
}
