import { compareServerVersions } from '../../apimachinery/server-version.ts';
import type { RoutingServer, ServedBy, ServersOfVersion } from './routing-table.ts';

/** Indexes servers for lookup; frozen, and made once for each combination of servers. */
export function servedByServers(servers: readonly RoutingServer[]): ServedBy {
  const sorted = servers.toSorted((left, right) => (left.id < right.id ? -1 : 1));
  const versions = versionsOf(sorted);
  const orders = new Map<string, readonly ServersOfVersion[]>();
  return Object.freeze<ServedBy>({
    serverIds: idsOf(sorted),
    servers: Object.freeze(sorted),
    reachable: Object.freeze(reachableOf(sorted)),
    byPreference(preferred) {
      const known = orders.get(preferred);
      if (known !== undefined) return known;
      const order = versions.toSorted((left, right) => comparePreference(left.minor, right.minor, preferred));
      // Few: the versions that configurations have named, and the snapshot's majority, newest and oldest.
      orders.set(preferred, order);
      return order;
    },
  });
}

function versionsOf(servers: readonly RoutingServer[]): readonly ServersOfVersion[] {
  return [...Map.groupBy(servers, ({ minor }) => minor)].map(([minor, members]) =>
    Object.freeze({ minor, serverIds: idsOf(members), reachable: Object.freeze(reachableOf(members)) }),
  );
}

/** Orders minor versions as `ServedBy.byPreference` has them. */
export function comparePreference(
  left: string | undefined,
  right: string | undefined,
  preferred: string,
): number {
  const leftAge = compareServerVersions(left, preferred);
  const rightAge = compareServerVersions(right, preferred);
  const leftIsOlder = left === undefined || leftAge < 0;
  const rightIsOlder = right === undefined || rightAge < 0;
  if (leftIsOlder !== rightIsOlder) return leftIsOlder ? 1 : -1;
  return leftIsOlder ? compareServerVersions(right, left) : compareServerVersions(left, right);
}

function idsOf(servers: readonly RoutingServer[]): ReadonlySet<string> {
  return new Set(servers.map(({ id }) => id));
}

function reachableOf(servers: readonly RoutingServer[]): RoutingServer[] {
  return servers.filter(({ origin, missing }) => origin !== undefined && missing === undefined);
}
