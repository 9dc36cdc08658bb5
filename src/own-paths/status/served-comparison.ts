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

function compared(servedSets: readonly ServedSet[]): Pick<ServedComparison, 'resources' | 'differing'> {
  const sets = servedSets.map(readSet);
  const places = placesOf(servedSets);
  const differing = Map.groupBy(
    places.flatMap((place) => rowsOf(place, sets).map((row) => ({ group: place.group, row }))),
    ({ group }) => group,
  );
  return {
    resources: places.length,
    differing: [...differing].map(([group, found]) => ({ group, rows: found.map(({ row }) => row) })),
  };
}

/** A served set with maps, so that a resource called `constructor` is a name like any other. */
interface ReadSet {
  readonly versions: ReadonlyMap<string, ReadonlySet<string>>;
  /** By name and version; `undefined`: nothing is known of subresources. */
  readonly subresources: ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>> | undefined;
}

function readSet({ storageVersions, subresources }: ServedSet): ReadSet {
  const versions = new Map(Object.entries(storageVersions).map(([name, served]) => [name, new Set(served)]));
  if (subresources === undefined) return { versions, subresources: undefined };
  const known = Object.entries(subresources).map(
    ([name, byVersion]) =>
      [
        name,
        new Map(Object.entries(byVersion).map(([version, names]) => [version, new Set(names)])),
      ] as const,
  );
  return { versions, subresources: new Map(known) };
}

function placesOf(sets: readonly ServedSet[]): readonly Place[] {
  const places = new Map<string, Place>();
  for (const { storageVersions } of sets) {
    for (const [name, versions] of Object.entries(storageVersions)) {
      const parsed = parseStorageVersionName(name);
      if (parsed === undefined) continue;
      for (const version of versions)
        places.set(JSON.stringify([name, version]), { name, version, ...parsed });
    }
  }
  return [...places.values()].sort(
    (left, right) =>
      compareNames(left.group, right.group) ||
      compareNames(left.resource, right.resource) ||
      compareVersionPriority(left.version, right.version),
  );
}

function rowsOf({ name, version, resource }: Place, sets: readonly ReadSet[]): readonly DifferingRow[] {
  const served = sets.map(({ versions }) => versions.get(name)?.has(version) === true);
  const rows: DifferingRow[] = [];
  if (served.includes(false)) {
    const cells = served.map((isServed): DifferingRow['cells'][number] => (isServed ? 'served' : 'missing'));
    rows.push({ version, resource, subresource: '', cells });
  }
  const serving = sets.filter((_, index) => served[index]);
  const subresources = new Set(
    serving.flatMap((set) => [...(set.subresources?.get(name)?.get(version) ?? [])]),
  );
  for (const subresource of [...subresources].sort(compareNames)) {
    const cellOf = (set: ReadSet, index: number): DifferingRow['cells'][number] => {
      if (served[index] !== true) return 'missing';
      if (set.subresources === undefined) return 'unknown';
      return set.subresources.get(name)?.get(version)?.has(subresource) === true ? 'served' : 'missing';
    };
    const cells = sets.map(cellOf);
    // Where the resource itself is missing its row says so already.
    if (cells.some((cell, index) => cell === 'missing' && served[index] === true)) {
      rows.push({ version, resource, subresource, cells });
    }
  }
  return rows;
}
