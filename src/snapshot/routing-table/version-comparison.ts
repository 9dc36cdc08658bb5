import { compareServerVersions } from '../../apimachinery/server-version.ts';
import type { ServedSet, VersionChange } from '../format/types.ts';
import type { MinorVersions, RoutingServer, VersionComparison } from './routing-table.ts';

/** One of the snapshot's sets, and the servers that serve it. */
export interface ComparedServers {
  readonly set: ServedSet;
  readonly servers: readonly RoutingServer[];
}

/**
 * Whether servers of different minor versions understand a resource differently: another schema, or another version to
 * store it as. Not knowing is not agreeing: what is not known of one of them, or not yet, counts as another. Servers of one
 * minor version are one: they differ by what cannot be chosen, such as their flags.
 * @param name `<group>.<resource>`
 */
export function differs(compared: readonly ComparedServers[], name: string, version: string): boolean {
  const minors = new Set<string | undefined>();
  const understandings = new Set<string | undefined>();
  for (const { set, servers } of compared) {
    understandings.add(understandingOf(set, name, version));
    for (const { minor } of servers) minors.add(minor);
  }
  return minors.size > 1 && (understandings.size > 1 || understandings.has(undefined));
}

function understandingOf(
  { schemas, storageVersionHashes }: ServedSet,
  name: string,
  version: string,
): string | undefined {
  const schema = own(own(schemas, name), version);
  return schema && `${schema} ${own(storageVersionHashes, name)}`;
}

const noServers: ReadonlySet<string> = new Set();

/** Which servers cannot decode every object of a resource. @param name `<group>.<resource>` */
export function cannotDecode(compared: readonly ComparedServers[], name: string): ReadonlySet<string> {
  const failing = compared.filter(({ set }) => own(set.undecodableVersions, name) !== undefined);
  if (failing.length === 0) return noServers;
  return new Set(failing.flatMap(({ servers }) => servers.map(({ id }) => id)));
}

/** Resources of `admissionregistration.k8s.io` whose objects say what may be written; webhooks are enforced by all. */
const policyResource = /^admissionregistration\.k8s\.io\.[a-z]*polic(?:y|ies|ybindings)$/;

/** @returns `undefined` when the servers are of one minor version. */
export function compareVersions(
  compared: readonly ComparedServers[],
  changes: readonly VersionChange[] = [],
): VersionComparison | undefined {
  const counts = new Map<string, number>();
  for (const { minor } of compared.flatMap(({ servers }) => servers)) {
    if (minor !== undefined) counts.set(minor, (counts.get(minor) ?? 0) + 1);
  }
  const now = minorVersionsOf(counts);
  if (now === undefined || now.newest === now.oldest) return undefined;
  const isComplete = compared.every(({ set }) => set.schemas !== undefined);
  return Object.freeze({
    ...now,
    before: Object.freeze(versionsBefore(counts, changes)),
    isComplete,
    enforcementDiffers: !isComplete || enforcementDiffers(compared),
  });
}

/** @param counts minor version to the servers that have it; `undefined` where none has any */
function minorVersionsOf(counts: ReadonlyMap<string, number>): MinorVersions | undefined {
  const present = [...counts].filter(([, count]) => count > 0);
  const newestFirst = present
    .map(([minor]) => minor)
    .sort((left, right) => compareServerVersions(right, left));
  const [newest] = newestFirst;
  const oldest = newestFirst.at(-1);
  if (newest === undefined || oldest === undefined) return undefined;
  const most = Math.max(...present.map(([, count]) => count));
  const majority = newestFirst.find((minor) => counts.get(minor) === most) ?? newest;
  return { majority, newest, oldest, minors: Object.freeze(newestFirst) };
}

/**
 * Undoes one change after the other, the last first. It does not matter in how many snapshots they were noticed: routers
 * that read the cluster themselves come to the same.
 */
function versionsBefore(
  counts: ReadonlyMap<string, number>,
  changes: readonly VersionChange[],
): VersionComparison['before'] {
  const counting = new Map(counts);
  const add = (minor: string | undefined, count: number): void => {
    if (minor !== undefined) counting.set(minor, (counting.get(minor) ?? 0) + count);
  };
  const undone = new Map<number, MinorVersions | undefined>();
  const lastFirst = changes.map((change) => ({ ...change, until: Date.parse(change.at) }));
  for (const { from, to, until } of lastFirst.sort((one, other) => other.until - one.until)) {
    add(to, -1);
    add(from, 1);
    undone.set(until, minorVersionsOf(counting));
  }
  return [...undone]
    .flatMap(([until, versions]) => (versions === undefined ? [] : Object.freeze({ ...versions, until })))
    .reverse();
}

/** What counts at a time. @param now milliseconds since the epoch */
export function versionsAt(comparison: VersionComparison, now: number): MinorVersions {
  const { before } = comparison;
  return before.length === 0 ? comparison : (before.find(({ until }) => now < until) ?? comparison);
}

function enforcementDiffers(compared: readonly ComparedServers[]): boolean {
  return new Set(compared.map(({ set }) => policiesOf(set))).size > 1;
}

/** A version of a policy more enforces nothing more: all versions of one are the same objects. */
export function policiesOf({ storageVersions }: ServedSet): string {
  const policies = Object.keys(storageVersions).filter((name) => policyResource.test(name));
  return policies.sort().join(' ');
}

function own<Value>(record: Readonly<Record<string, Value>> | undefined, key: string): Value | undefined {
  return record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined;
}
