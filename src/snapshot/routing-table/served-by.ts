import { compareCountedVersions, minorVersion } from '../../apimachinery/server-version.ts';
import type { ServedSet } from '../format/schema.ts';
import type {
  MinorVersions,
  RoutingServer,
  ServedBy,
  ServersOfVersion,
  VersionComparison,
} from './routing-table.ts';
import type { TimedChange } from './version-instants.ts';

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

export function comparePreference(
  left: string | undefined,
  right: string | undefined,
  preferred: string,
): number {
  // Among servers of one version with other feature gates, those of the preferred ones come first.
  if ((left === preferred) !== (right === preferred)) return left === preferred ? -1 : 1;
  const leftIsOlder = left === undefined || compareCountedVersions(left, preferred) < 0;
  const rightIsOlder = right === undefined || compareCountedVersions(right, preferred) < 0;
  if (leftIsOlder !== rightIsOlder) return leftIsOlder ? 1 : -1;
  return leftIsOlder ? compareCountedVersions(right, left) : compareCountedVersions(left, right);
}

function idsOf(servers: readonly RoutingServer[]): ReadonlySet<string> {
  return new Set(servers.map(({ id }) => id));
}

function reachableOf(servers: readonly RoutingServer[]): RoutingServer[] {
  return servers.filter(({ origin, missing }) => origin !== undefined && missing === undefined);
}

/** One of the snapshot's sets, and the servers that serve it. */
export interface ComparedServers {
  readonly set: ServedSet;
  readonly servers: readonly RoutingServer[];
}

/**
 * True if servers of different versions understand a resource differently: another schema, another version to store it as, or
 * another set of feature gates in the same program, of which no schema says what they drop. Not knowing is not agreeing: what
 * is not known of one of them, or not yet, counts as another.
 * @param name `<group>.<resource>`
 */
export function differs(compared: readonly ComparedServers[], name: string, version: string): boolean {
  const versions = new Set<string | undefined>();
  const understandings = new Set<string | undefined>();
  for (const { set, servers } of compared) {
    understandings.add(understandingOf(set, name, version));
    for (const { minor } of servers) versions.add(minor);
  }
  if (versions.size < 2) return false;
  return understandings.size > 1 || understandings.has(undefined) || featureGatesDiffer(compared);
}

/** True if servers of one program were started with other feature gates. Each program has gates of its own anyway. */
function featureGatesDiffer(compared: readonly ComparedServers[]): boolean {
  const known = new Map<string | undefined, string>();
  return compared
    .flatMap(({ servers }) => servers)
    .some(({ version, featureGates }) => {
      if (featureGates === undefined) return false;
      const minor = minorVersion(version);
      const other = known.get(minor) ?? featureGates;
      known.set(minor, other);
      return other !== featureGates;
    });
}

function understandingOf(
  { schemas, storageVersionHashes }: ServedSet,
  name: string,
  version: string,
): string | undefined {
  const schema = own(own(schemas, name), version);
  return schema && `${schema} ${own(storageVersionHashes, name)}`;
}

/** Resources of `admissionregistration.k8s.io` whose objects say what may be written; webhooks are enforced by all. */
const policyResource = /^admissionregistration\.k8s\.io\.[a-z]*polic(?:y|ies|ybindings)$/;

/**
 * @returns `undefined` when the servers are of one version, and every router knows that: until a change counts, another router may
 *   go by what a server was before. A lone server has nobody beside it.
 */
export function compareVersions(
  compared: readonly ComparedServers[],
  changes: readonly TimedChange[],
): VersionComparison | undefined {
  const servers = compared.flatMap((each) => each.servers);
  const counts = new Map<string, number>();
  for (const { minor } of servers) if (minor !== undefined) counts.set(minor, (counts.get(minor) ?? 0) + 1);
  const now = minorVersionsOf(counts);
  if (now === undefined) return undefined;
  if (now.minors.length < 2 && (servers.length < 2 || changes.length === 0)) return undefined;
  const isComplete = compared.every(({ set }) => set.schemas !== undefined);
  return Object.freeze({
    ...now,
    before: Object.freeze(versionsBefore(servers, counts, changes, now)),
    isComplete,
    enforcementDiffers: !isComplete || enforcementDiffers(compared) || featureGatesDiffer(compared),
  });
}

/**
 * @param counts minor version to the servers that have it
 * @param present the versions that may respond. Default: all that a server has
 * @returns `undefined` where there is none
 */
function minorVersionsOf(
  counts: ReadonlyMap<string, number>,
  present: ReadonlySet<string | undefined> = new Set(counts.keys()),
): MinorVersions | undefined {
  const countOf = (minor: string) => counts.get(minor) ?? 0;
  const responding = [...counts.keys()].filter((minor) => countOf(minor) > 0 && present.has(minor));
  // Nobody can say which feature gates of one version are newer: those that most servers have go first.
  const newestFirst = responding.sort(
    (left, right) =>
      compareCountedVersions(right, left) || countOf(right) - countOf(left) || (left < right ? -1 : 1),
  );
  const [newest] = newestFirst;
  if (newest === undefined) return undefined;
  const most = Math.max(...responding.map(countOf));
  return {
    majority: newestFirst.find((minor) => countOf(minor) === most) ?? newest,
    newest,
    oldest: newestFirst.toSorted(compareCountedVersions)[0] ?? newest,
    minors: Object.freeze(newestFirst),
  };
}

/** More ways than these in which changes may count for others are not looked at one by one: then nobody knows. */
const waysAtMost = 64;

/**
 * The versions until all changes count, from instant to instant. It does not matter in how many snapshots the changes were
 * noticed: routers that read the cluster themselves come to the same.
 *
 * All routers know what was ready eight seconds ago, and not what has happened since. So a server whose change does not count
 * yet stands for no version, be it one that it had before. From `waitFrom` on a change may count for another router: whichever
 * of such changes do, this router goes by what it has in common with the others, or waits.
 * @param now stands for what nobody knows: who reads the cluster has just begun to
 */
function versionsBefore(
  servers: readonly RoutingServer[],
  counts: ReadonlyMap<string, number>,
  given: readonly TimedChange[],
  now: MinorVersions,
): VersionComparison['before'] {
  const changes = openedTogether(given);
  const instants = new Set(changes.flatMap(({ waitFrom, until }) => [waitFrom, until]));
  let from = Number.NEGATIVE_INFINITY;
  return [...instants]
    .toSorted((one, other) => one - other)
    .map((until) => {
      const left = changes.filter((change) => change.until > from);
      const open = left.filter(({ waitFrom }) => waitFrom <= from);
      const versions = versionsWithout(left, servers, counts);
      const others = waysToCount(left, open, [...counts.keys()])?.map((each) =>
        versionsWithout(each, servers, counts),
      );
      const known = others?.every((each) => each !== undefined) === true ? others : undefined;
      const step = {
        ...(versions ?? now),
        from,
        until,
        uncounted: new Set(left.map(({ server }) => server)),
        untold: new Set(left.filter((change) => !open.includes(change)).map(({ server }) => server)),
        others: versions && known,
      };
      from = until;
      return Object.freeze(step);
    });
}

/** A change of a server that counts has its earlier ones count as well. */
function openedTogether(changes: readonly TimedChange[]): readonly TimedChange[] {
  return changes.map((change) => {
    const { server, until } = change;
    const later = changes.filter((each) => each.server === server && each.until >= until);
    return { ...change, waitFrom: Math.min(...later.map(({ waitFrom }) => waitFrom)) };
  });
}

/**
 * What may be left to count for another router, in each way: of one server the earlier changes count first. A server of which this
 * router does not know what it was may have been of any of the versions.
 * @returns `undefined`: there are too many ways
 */
function waysToCount(
  left: readonly TimedChange[],
  open: readonly TimedChange[],
  versions: readonly string[],
): readonly (readonly TimedChange[])[] | undefined {
  let ways: readonly (readonly TimedChange[])[] = [left.filter((change) => !open.includes(change))];
  for (const ofServer of Map.groupBy(open, ({ server }) => server).values()) {
    const inOrder = ofServer.toSorted((one, other) => one.until - other.until);
    const [first] = inOrder;
    const pasts = first?.from === undefined ? [undefined, ...versions] : [first.from];
    const ofThis = [...inOrder.keys(), inOrder.length].flatMap((count) =>
      count > 0
        ? [inOrder.slice(count)]
        : pasts.map((from) =>
            inOrder.map((change) => (change === first && from ? { ...change, from } : change)),
          ),
    );
    ways = ways.flatMap((way) => ofThis.map((rest) => [...way, ...rest]));
    if (ways.length > waysAtMost) return undefined;
  }
  return ways;
}

/** The versions while these changes do not count; `undefined`: no server counts, or nobody knows what they were. */
function versionsWithout(
  left: readonly TimedChange[],
  servers: readonly RoutingServer[],
  counts: ReadonlyMap<string, number>,
): MinorVersions | undefined {
  const counting = new Map(counts);
  const add = (minor: string | undefined, count: number): void => {
    if (minor !== undefined) counting.set(minor, (counting.get(minor) ?? 0) + count);
  };
  for (const { from, to } of left) {
    add(to, -1);
    add(from, 1);
  }
  const changing = new Set(left.map(({ server }) => server));
  const present = new Set(servers.filter(({ id }) => !changing.has(id)).map(({ minor }) => minor));
  return minorVersionsOf(counting, present);
}

/** The versions that count at a time, until all do; `undefined`: all do. @param now by the clock of `RoutingTable.changes` */
export function stepAt(
  { before }: VersionComparison,
  now: number,
): VersionComparison['before'][number] | undefined {
  return before.length === 0 ? undefined : before.find(({ until }) => now < until);
}

/** True if the servers have been of one version for so long that every router knows it. @param now as of `stepAt` */
export function isOfOneVersion(comparison: VersionComparison, now: number): boolean {
  return comparison.minors.length < 2 && stepAt(comparison, now) === undefined;
}

function enforcementDiffers(compared: readonly ComparedServers[]): boolean {
  return new Set(compared.map(({ set }) => policiesOf(set))).size > 1;
}

/** A version of a policy more enforces nothing more: all versions of one are the same objects. */
export function policiesOf({ storageVersions }: ServedSet): string {
  const policies = Object.keys(storageVersions).filter((name) => policyResource.test(name));
  return policies.sort().join(' ');
}

/** A member that the object has of itself, be it called `constructor`. */
export function own<Value>(
  record: Readonly<Record<string, Value>> | undefined,
  key: string,
): Value | undefined {
  return record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined;
}
