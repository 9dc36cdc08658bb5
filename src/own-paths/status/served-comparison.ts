import { parseStorageVersionName } from '../../apimachinery/group-version.ts';
import { compareServerVersions } from '../../apimachinery/server-version.ts';
import { compareVersionPriority } from '../../apimachinery/version-priority.ts';
import { compareNames } from '../../runtime/compare-names.ts';
import type { ServedSet, Snapshot } from '../../snapshot/format/schema.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import type { DifferingRow, ServedComparison } from './status-schema.ts';

/** Made once for each snapshot: every open page asks every two seconds, on the thread that forwards requests. */
const made = new WeakMap<Snapshot, ServedComparison>();

export function servedComparison(table: RoutingTable): ServedComparison {
  const known = made.get(table.snapshot);
  if (known !== undefined) return known;
  const columns = columnsOf(table);
  const comparison = {
    columns: columns.map(({ version = null, servers }) => ({ version, servers })),
    ...compared(columns.map(({ set }) => set)),
  };
  made.set(table.snapshot, comparison);
  return comparison;
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

function compared(sets: readonly ServedSet[]): Pick<ServedComparison, 'resources' | 'differing'> {
  const places = placesOf(sets);
  // Sorted when only what differs is left: to sort the thousands that do not takes longer than to compare them.
  const found = places
    .map((place) => ({ place, rows: rowsOf(place, sets) }))
    .filter(({ rows }) => rows.length > 0)
    .sort((left, right) => comparePlaces(left.place, right.place));
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

function placesOf(sets: readonly ServedSet[]): readonly Place[] {
  const places = new Map<string, Place>();
  for (const { storageVersions } of sets) {
    for (const [name, versions] of Object.entries(storageVersions)) {
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

/** A resource called `constructor` is a name like any other. */
function own<Value>(members: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(members, name) ? members[name] : undefined;
}
