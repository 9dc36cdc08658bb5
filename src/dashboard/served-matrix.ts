import { parseStorageVersionName } from '../apimachinery/group-version.ts';
import { compareVersionPriority } from '../apimachinery/version-priority.ts';
import type { ServedSet } from '../snapshot/format/schema.ts';
import type { ServerColumn } from './server-columns.ts';
import { compareNames } from './wording/display-names.ts';

/** `unknown`: nothing is known of this server's subresources; it is taken to serve it (see `ServedSet.subresources`). */
export type MatrixCell = 'served' | 'missing' | 'unknown';

/** A resource, or a subresource of one, that not all servers serve. */
export interface MatrixRow {
  readonly version: string;
  readonly resource: string;
  /** Empty when it is about the resource itself. */
  readonly subresource: string;
  /** One for each column, in their order. */
  readonly cells: readonly MatrixCell[];
}

export interface MatrixGroup {
  readonly group: string;
  readonly rows: readonly MatrixRow[];
}

export interface ServedMatrix {
  readonly differing: readonly MatrixGroup[];
  readonly differingRows: number;
  /** Resources in one version each: `batch/v1` and `batch/v1beta1` of one resource count twice. */
  readonly resources: number;
}

interface Place {
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

/** Compares what the columns serve. Groups and resources are in the order of their names, core first. Pure. */
export function servedMatrix(columns: readonly ServerColumn[]): ServedMatrix {
  const sets = columns.map(({ set }) => readSet(set));
  const differing = new Map<string, MatrixRow[]>();
  const places = placesOf(columns);
  for (const place of places) {
    const rows = rowsOf(place, sets);
    if (rows.length > 0) {
      const found = differing.get(place.group) ?? [];
      found.push(...rows);
      differing.set(place.group, found);
    }
  }
  return {
    differing: [...differing].map(([group, rows]) => ({ group, rows })),
    differingRows: [...differing.values()].reduce((count, rows) => count + rows.length, 0),
    resources: places.length,
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

function placesOf(columns: readonly ServerColumn[]): readonly Place[] {
  const places = new Map<string, Place>();
  for (const { set } of columns) {
    for (const [name, versions] of Object.entries(set.storageVersions)) {
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

function rowsOf({ name, version, resource }: Place, sets: readonly ReadSet[]): readonly MatrixRow[] {
  const served = sets.map(({ versions }) => versions.get(name)?.has(version) === true);
  const rows: MatrixRow[] = [];
  if (served.includes(false)) {
    const cells = served.map((isServed): MatrixCell => (isServed ? 'served' : 'missing'));
    rows.push({ version, resource, subresource: '', cells });
  }
  const serving = sets.filter((_, index) => served[index]);
  const subresources = new Set(
    serving.flatMap((set) => [...(set.subresources?.get(name)?.get(version) ?? [])]),
  );
  for (const subresource of [...subresources].sort(compareNames)) {
    const cellOf = (set: ReadSet, index: number): MatrixCell => {
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
