import { parseStorageVersionName } from '../../apimachinery/group-version.ts';
import { compareServerVersions } from '../../apimachinery/server-version.ts';
import { compareVersionPriority } from '../../apimachinery/version-priority.ts';
import { compareNames } from '../../runtime/compare-names.ts';
import { SharedWork, type Steps } from '../../runtime/shared-work.ts';
import type { ServedSet, Snapshot } from '../../snapshot/format/schema.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import { own } from '../../snapshot/routing-table/served-by.ts';
import type { DifferingRow, ServedComparison } from './status-schema.ts';

const known = new WeakMap<Snapshot, SharedWork<ServedComparison>>();

/** Once for each snapshot, and in slices: every open page asks every two seconds, on the thread that forwards requests. */
export function servedComparison(table: RoutingTable): SharedWork<ServedComparison> {
  const comparison = known.get(table.snapshot) ?? new SharedWork(comparisonSteps(table));
  known.set(table.snapshot, comparison);
  return comparison;
}

function* comparisonSteps(table: RoutingTable): Steps<ServedComparison> {
  const columns = columnsOf(table);
  const compared = yield* comparedSteps(columns.map(({ set }) => set));
  return { columns: columns.map(({ version = null, servers }) => ({ version, servers })), ...compared };
}

interface Column {
  readonly version: string | undefined;
  readonly set: ServedSet;
  /** IDs in their order. At least one. */
  readonly servers: readonly string[];
}

function columnsOf({ servers: listed, snapshot }: RoutingTable): readonly Column[] {
  const serves = new Map(snapshot.servers.map((server) => [server.id, server.serves]));
  const sets = new Map(Object.entries(snapshot.servedSets));
  const grouped = Map.groupBy(listed, ({ id, version }) => JSON.stringify([version, serves.get(id)]));
  return [...grouped.values()]
    .flatMap((servers): Column[] => {
      const [{ id, version } = { id: '', version: undefined }] = servers;
      const set = sets.get(serves.get(id) ?? '');
      return set === undefined ? [] : [{ version, set, servers: servers.map((server) => server.id) }];
    })
    .sort(
      (left, right) =>
        compareServerVersions(left.version, right.version) ||
        right.servers.length - left.servers.length ||
        ((left.servers[0] ?? '') < (right.servers[0] ?? '') ? -1 : 1),
    );
}

interface Place {
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

/** Names of resources between two ends of a slice: less than a millisecond of work. */
const namesInStep = 64;

function* comparedSteps(
  sets: readonly ServedSet[],
): Steps<Pick<ServedComparison, 'resources' | 'differing'>> {
  const places = yield* placesOf(sets);
  // Sorted when only what differs is left: to sort the thousands that do not takes longer than to compare them.
  const found: { readonly place: Place; readonly rows: readonly DifferingRow[] }[] = [];
  for (const [index, place] of places.entries()) {
    if (index % namesInStep === 0) yield;
    const rows = rowsOf(place, sets);
    if (rows.length > 0) found.push({ place, rows });
  }
  found.sort((left, right) => comparePlaces(left.place, right.place));
  return {
    resources: places.length,
    differing: [...Map.groupBy(found, ({ place }) => place.group)].map(([group, those]) => ({
      group,
      rows: those.flatMap(({ rows }) => rows),
    })),
  };
}

function comparePlaces(left: Place, right: Place): number {
  return (
    compareNames(left.group, right.group) ||
    compareNames(left.resource, right.resource) ||
    compareVersionPriority(left.version, right.version)
  );
}

function* placesOf(sets: readonly ServedSet[]): Steps<readonly Place[]> {
  const places = new Map<string, Place>();
  for (const { storageVersions } of sets) {
    for (const [index, [name, versions]] of Object.entries(storageVersions).entries()) {
      if (index % namesInStep === 0) yield;
      for (const version of versions) {
        // Neither has a slash in it.
        const key = `${name}/${version}`;
        const parsed = places.has(key) ? undefined : parseStorageVersionName(name);
        if (parsed !== undefined) places.set(key, { name, version, ...parsed });
      }
    }
  }
  return [...places.values()];
}

function rowsOf({ name, version, resource }: Place, sets: readonly ServedSet[]): readonly DifferingRow[] {
  const served = sets.map(({ storageVersions }) => own(storageVersions, name)?.includes(version) === true);
  const rows: DifferingRow[] = [];
  if (served.includes(false)) {
    const cells = served.map((isServed): DifferingRow['cells'][number] => (isServed ? 'served' : 'missing'));
    rows.push({ version, resource, subresource: '', cells });
  }
  /** `undefined`: it is not served there, or nothing is known of subresources. */
  const below = sets.map(({ subresources }, index) => {
    if (served[index] !== true || subresources === undefined) return undefined;
    return own(own(subresources, name) ?? {}, version) ?? [];
  });
  const names = new Set(below.flatMap((listed) => listed ?? []));
  // Where the resource itself is missing its row says so already.
  const differing = [...names].filter((each) => below.some((listed) => listed?.includes(each) === false));
  for (const subresource of differing.sort(compareNames)) {
    const cells = below.map((listed, index): DifferingRow['cells'][number] => {
      if (listed === undefined) return served[index] === true ? 'unknown' : 'missing';
      return listed.includes(subresource) ? 'served' : 'missing';
    });
    rows.push({ version, resource, subresource, cells });
  }
  return rows;
}
