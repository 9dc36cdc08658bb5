import { clusterView } from '../../dashboard/cluster-view.ts';
import { displayName, shortVersion } from '../../dashboard/wording/display-names.ts';
import { canonicalJson } from '../../runtime/canonical-json.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import type { StatusView } from './status-view.ts';

/** A router as one of several. */
export interface AskedRouter {
  /** `https://host:port`. */
  readonly server: string;
  /** Why it does not tell; `null` where it does. */
  readonly error: string | null;
  readonly status: StatusView | undefined;
  /** `undefined` while it has no snapshot. */
  readonly table: RoutingTable | undefined;
}

/** A router of an earlier release does not report readiness: a status at all then counts as ready. Pure. */
export function saysReady({ readiness }: StatusView): boolean {
  return readiness?.ready !== false;
}

/**
 * Addresses of routers that the snapshots name and that have not been asked: `https://host:port`, each server's once.
 * Pure.
 */
export function otherRouters(asked: readonly AskedRouter[]): readonly string[] {
  const origins = serversOfOthers(asked)
    .filter(hasRouterAddress)
    .map(({ address }) => `https://${address}`);
  return [...new Set(origins)].filter((origin) => asked.every(({ server }) => server !== origin));
}

/** IDs of servers whose routers no snapshot has an address of, and that have not been asked. Pure. */
export function serversNotAsked(asked: readonly AskedRouter[]): readonly string[] {
  const others = serversOfOthers(asked);
  const found = new Set(others.filter(hasRouterAddress).map(({ id }) => id));
  return [...new Set(others.map(({ id }) => id))].filter((id) => !found.has(id)).sort();
}

type ListedServer = StatusView['servers'][number];

/** Servers that routers list, without those whose own routers have told. */
function serversOfOthers(asked: readonly AskedRouter[]): readonly ListedServer[] {
  const told = new Set(asked.flatMap(({ status }) => status?.serverId ?? []));
  return asked.flatMap(({ status }) => status?.servers ?? []).filter(({ id }) => !told.has(id));
}

/** The address of a server is its router's where that advertises it. */
function hasRouterAddress({ address, addressSource }: ListedServer): boolean {
  return address !== null && addressSource === 'advertised';
}

/** Something that routers say differently. */
export interface Difference {
  /** What it is about: a setting, or a server. */
  readonly subject: string;
  readonly values: readonly { readonly value: string; readonly routers: readonly string[] }[];
}

/**
 * Where routers differ, so that a request may be routed by one in another way than by the next: what they know of each
 * server, and the settings that decide. Generations are not compared: routers that read the cluster themselves count
 * their own. A router without a snapshot is compared by its settings only. Pure.
 */
export function differencesBetween(routers: readonly AskedRouter[]): readonly Difference[] {
  const told = routers.filter(({ status }) => status !== undefined);
  const knowing = told.filter(({ table }) => table !== undefined);
  return [
    ...differencesOf(told, settings),
    ...differencesOf(knowing, preference),
    ...differencesOf(knowing, ({ table }) => (table === undefined ? [] : knowledge(table))),
  ];
}

type Fact = readonly [subject: string, value: string];

function differencesOf(
  routers: readonly AskedRouter[],
  factsOf: (router: AskedRouter) => readonly Fact[],
): readonly Difference[] {
  const facts = routers.map((router) => [router.server, new Map(factsOf(router))] as const);
  const subjects = new Set(facts.flatMap(([, known]) => [...known.keys()]));
  return [...subjects]
    .map((subject) => ({
      subject,
      values: [...Map.groupBy(facts, ([, known]) => known.get(subject) ?? 'not known')].map(
        ([value, group]) => ({ value, routers: group.map(([server]) => server) }),
      ),
    }))
    .filter(({ values }) => values.length > 1);
}

function settings({ status }: AskedRouter): readonly Fact[] {
  if (status === undefined) return [];
  const { enabled, stalePolicy } = status;
  return [
    ['feature gate', enabled ? 'on' : 'off'],
    ['stale policy', stalePolicy],
  ];
}

/** Which version a setting comes to is known with a snapshot alone. */
function preference({ status }: AskedRouter): readonly Fact[] {
  const preferred = status?.preferredVersion;
  return [['preferred version', preferred?.minor ?? preferred?.configured ?? 'not told']];
}

function knowledge(table: RoutingTable): readonly Fact[] {
  const { servers, apiServices, customResourceGroups } = table.snapshot;
  const { hostnames } = clusterView(table);
  return [
    ...servers.flatMap(({ id, version, serves, departedAt }): readonly Fact[] => {
      const name = `server ${displayName(id, hostnames)}`;
      const presence = version === undefined ? 'of unknown version' : shortVersion(version);
      return [
        [name, departedAt === undefined ? presence : 'departed'],
        // The name of a set is the hash of what is in it (snapshot format): its beginning tells two apart.
        [`what ${name} serves`, serves === undefined ? 'not known' : serves.slice(0, 'sha256:'.length + 8)],
      ];
    }),
    ['extension APIs', shortened(canonicalJson(apiServices))],
    ['groups of custom resources', shortened(canonicalJson(customResourceGroups))],
  ];
}

function shortened(text: string): string {
  return text.length <= 60 ? text : `${text.slice(0, 59)}…`;
}
