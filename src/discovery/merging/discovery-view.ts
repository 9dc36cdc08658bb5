import type { APIGroupDiscovery } from '../../apimachinery/discovery-types.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';

/** What one server serves, as its own discovery says. */
export interface DiscoveryView {
  readonly serverId: string;
  /** The server's Kubernetes version, for example `v1.26.15`; `undefined` when unknown. */
  readonly version: string | undefined;
  /** The legacy group under the empty name. Servers that share a set share this very array. */
  readonly groups: readonly APIGroupDiscovery[];
  /** As in `ServedSet.storageVersionHashes`. */
  readonly storageVersionHashes?: Readonly<Record<string, string>> | undefined;
  /** The server could not be read this time: `groups` is the last that was known. */
  readonly stale: boolean;
  /** Whether other routers have an address for it. Default true. */
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
      groups,
      storageVersionHashes,
      stale: stale === true && !everyServerIsStale,
      reachable: table.everyServer.reachable.some((server) => server.id === id),
    });
  }
  return views;
}
