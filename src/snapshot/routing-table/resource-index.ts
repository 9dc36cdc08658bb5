import { parseStorageVersionName, storageVersionName } from '../../apimachinery/group-version.ts';
import type { ServedSet, Snapshot } from '../format/types.ts';
import type { ResourceRoute, RoutingServer, ServedBy } from './routing-table.ts';
import { servedByServers } from './served-by.ts';
import { type ComparedServers, cannotDecode, differs } from './version-comparison.ts';

/** Group, then version, then resource. */
type ResourceIndex = ReadonlyMap<string, ReadonlyMap<string, ReadonlyMap<string, ResourceRoute>>>;

/** Facts about one group/version/resource, gathered before its route is made. Numbers index the used sets. */
interface Gathered {
  readonly sets: number[];
  /** Of those, the ones without any knowledge of subresources. */
  readonly unknowing: number[];
  /** Subresource to the sets that are known to serve it. */
  readonly subresources: Map<string, number[]>;
}

/** Works out who serves each resource of the snapshot, and each of its subresources. */
export function indexResources(usedSets: readonly ComparedServers[]): ResourceIndex {
  const gathered = new Map<string, Map<string, Map<string, Gathered>>>();
  usedSets.forEach(({ set }, number) => {
    gather(gathered, set, number);
  });

  const servedBy = servedBySets(usedSets);
  return mapValues(gathered, (versions, group) =>
    mapValues(versions, (resources, version) =>
      mapValues(resources, (entry, resource) => {
        const compared = entry.sets.flatMap((number) => usedSets[number] ?? []);
        const name = storageVersionName(group, resource);
        return routeOf(entry, servedBy, differs(compared, name, version), cannotDecode(compared, name));
      }),
    ),
  );
}

/** @throws {TypeError} for a server whose set the snapshot does not have */
export function usedSetsOf(
  snapshot: Snapshot,
  serversById: ReadonlyMap<string, RoutingServer>,
): ComparedServers[] {
  const sets = new Map(Object.entries(snapshot.servedSets));
  return [...Map.groupBy(snapshot.servers, ({ serves }) => serves)].map(([serves, members]) => {
    const set = sets.get(serves);
    if (set === undefined) {
      throw new TypeError(
        `Server ${members[0]?.id} serves the set ${serves}, which the snapshot does not have.`,
      );
    }
    return { set, servers: members.flatMap(({ id }) => serversById.get(id) ?? []) };
  });
}

function gather(
  gathered: Map<string, Map<string, Map<string, Gathered>>>,
  set: ServedSet,
  number: number,
): void {
  // Maps, so that a resource called `constructor` or `toString` is a name like any other.
  const known = set.subresources && new Map(Object.entries(set.subresources));
  for (const [name, servedVersions] of Object.entries(set.storageVersions)) {
    const parsed = parseStorageVersionName(name);
    if (parsed === undefined) throw new TypeError(`${name} is not of the form <group>.<resource>.`);
    const knownVersions = new Map(Object.entries(known?.get(name) ?? {}));
    for (const version of servedVersions) {
      const entry = entryOf(gathered, parsed.group, version, parsed.resource);
      addOnce(entry.sets, number);
      if (known === undefined) {
        addOnce(entry.unknowing, number);
        continue;
      }
      for (const subresource of knownVersions.get(version) ?? []) {
        const sets = entry.subresources.get(subresource) ?? [];
        addOnce(sets, number);
        entry.subresources.set(subresource, sets);
      }
    }
  }
}

function entryOf(
  gathered: Map<string, Map<string, Map<string, Gathered>>>,
  group: string,
  version: string,
  resource: string,
): Gathered {
  const versions = gathered.get(group) ?? new Map<string, Map<string, Gathered>>();
  gathered.set(group, versions);
  const resources = versions.get(version) ?? new Map<string, Gathered>();
  versions.set(version, resources);
  const entry = resources.get(resource) ?? { sets: [], unknowing: [], subresources: new Map() };
  resources.set(resource, entry);
  return entry;
}

/** Sets are visited in order, so a number that is there already (a version listed twice) is the last one. */
function addOnce(numbers: number[], number: number): void {
  if (numbers.at(-1) !== number) numbers.push(number);
}

function routeOf(
  entry: Gathered,
  servedBy: (sets: readonly number[]) => ServedBy | undefined,
  isDiffering: boolean,
  cannotDecode: ReadonlySet<string>,
): ResourceRoute {
  const fallback = servedBy(entry.unknowing);
  // A server that knows nothing of subresources is taken to serve this one too (see ServedSet.subresources).
  const subresources = mapValues(entry.subresources, (sets) => servedBy([...sets, ...entry.unknowing]));
  return Object.freeze<ResourceRoute>({
    ...(servedBy(entry.sets) ?? servedByNone),
    differs: isDiffering,
    cannotDecode,
    subresource: (name) => subresources.get(name) ?? fallback,
  });
}

const servedByNone = servedByServers([]);

/** Makes one `ServedBy` for each combination of sets that occurs, and hands the same one out ever after. */
function servedBySets(
  usedSets: readonly ComparedServers[],
): (sets: readonly number[]) => ServedBy | undefined {
  const made = new Map<string, ServedBy>();
  return (sets) => {
    if (sets.length === 0) return undefined;
    const key = sets.toSorted((left, right) => left - right).join(' ');
    const known = made.get(key);
    if (known !== undefined) return known;
    const servedBy = servedByServers(sets.flatMap((number) => usedSets[number]?.servers ?? []));
    made.set(key, servedBy);
    return servedBy;
  };
}

export function mapValues<Value, Result>(
  map: ReadonlyMap<string, Value>,
  convert: (value: Value, key: string) => Result,
): Map<string, Result> {
  const result = new Map<string, Result>();
  for (const [key, value] of map) result.set(key, convert(value, key));
  return result;
}
