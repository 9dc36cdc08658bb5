import { parseStorageVersionName } from '../../apimachinery/group-version.ts';
import type { Steps } from '../../runtime/shared-work.ts';
import type { ServedSet } from '../../snapshot/format/schema.ts';
import type { RoutingServer, RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import { compareLeadership } from './leadership.ts';
import { type Holder, holdersOf, type ListedNow } from './openapi-v3.ts';

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

function isShared(table: RoutingTable, path: string): boolean {
  const [, group, version] = /^apis\/([^/]+)\/([^/]+)$/.exec(path) ?? [];
  if (group === undefined || version === undefined) return false;
  return table.isCustomResource(group, version) || table.extension(group, version) !== undefined;
}

export function hasOpenApiV3Index(table: RoutingTable): boolean {
  return holdersOf(table).length > 0;
}

export function openApiV3UrlsOf(
  table: RoutingTable,
  serverId: string,
): Readonly<Record<string, string>> | undefined {
  return holdersOf(table).find(({ server }) => server.id === serverId)?.urls;
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
