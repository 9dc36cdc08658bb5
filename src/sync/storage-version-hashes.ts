import { storageVersionName } from '../apimachinery/group-version.ts';
import { storageVersionHash, storageVersionHashPattern } from '../apimachinery/storage-version-hash.ts';
import { type ParsedAPIResourceList, parseAPIResourceList } from '../discovery/forms/classic.ts';
import type { Clock } from '../runtime/time.ts';
import { createLimiter } from '../runtime/time.ts';
import { storageVersionNameIssue } from '../snapshot/format/parse-snapshot.ts';
import type { ServedSet } from '../snapshot/format/schema.ts';
import { getJsonIfServed, ReadError, type ServerDocuments, withReadTimeout } from './server-documents.ts';
import type { CustomResource } from './shared-objects.ts';
import { type DiscoveredGroupVersion, groupVersionsIn, type LastKnownServer } from './sync-server.ts';

/** For all documents of one reading, milliseconds: an extension API server that hangs must not delay the reading. */
const timeout = 2_000;
/** Until a document that could not be read is read again, milliseconds. */
const retriedAfter = 30_000;
/**
 * Until everything is read again, milliseconds. After an update, an extension API server may store at another version
 * with the same discovery.
 */
const refreshedAfter = 600_000;

/** `<group>.<resource>` to `storageVersionHash`, as in `ServedSet.storageVersionHashes`. */
type StorageVersionHashes = NonNullable<ServedSet['storageVersionHashes']>;

interface HashesRequest {
  readonly documents: ServerDocuments;
  readonly set: ServedSet;
  /** Classic documents that have been read, by group version. */
  readonly resourceLists: ReadonlyMap<string, ParsedAPIResourceList> | undefined;
  readonly version: string | undefined;
  readonly concurrentDocuments: number;
  readonly signal: AbortSignal;
}

export type StorageVersionHashReader = ReturnType<typeof createStorageVersionHashReader>;

interface Known {
  /** The aggregated form of the group version when it was read; empty if it must be read again. */
  text: string;
  hashes: StorageVersionHashes;
  retriedAt: number;
}

/**
 * Reads at which version one server stores what it serves. Aggregated discovery does not say. Classic documents do, one per
 * group version. They are read only when the aggregated form of the group version has changed.
 */
export function createStorageVersionHashReader(
  clock: Pick<Clock, 'monotonic'>,
  previous: LastKnownServer | undefined,
) {
  const known = previous === undefined ? new Map<string, Known>() : knownFrom(previous.set);
  let knownVersion = previous?.server.version;
  let refreshedAt = clock.monotonic();
  /** All hashes of a set are known: nothing is to be done while it stays the same object. */
  let last: { readonly set: ServedSet; readonly hashes: StorageVersionHashes } | undefined;

  function outdate(): void {
    last = undefined;
    for (const entry of known.values()) Object.assign(entry, { text: '', retriedAt: -Infinity });
  }

  async function readOne(
    { documents, resourceLists }: HashesRequest,
    { group, groupVersion, resources }: DiscoveredGroupVersion,
    signal: AbortSignal,
  ): Promise<void> {
    // It counts as failed until it has arrived: a read can hang for ever.
    const hashes = known.get(groupVersion)?.hashes ?? {};
    known.set(groupVersion, { text: '', hashes, retriedAt: clock.monotonic() + retriedAfter });
    try {
      const list =
        resourceLists?.get(groupVersion) ?? (await readResourceList(documents, groupVersion, signal));
      if (list === undefined) return;
      known.set(groupVersion, { text: textOf(resources), hashes: hashesOf(group, list), retriedAt: 0 });
    } catch {
      // Hashes do not decide where requests go, so the reading succeeds without them.
    }
  }

  return {
    /** The server may be another process from now on: each hash stays only until it has been read again. */
    outdate,
    /** Never rejects. A hash that cannot be read stays as last known. */
    async read(request: HashesRequest): Promise<StorageVersionHashes> {
      const { set, version } = request;
      const now = clock.monotonic();
      const isOther = version !== knownVersion;
      // Another version may store at others: what is not known of it is not taken to be as before.
      if (isOther && version !== undefined && knownVersion !== undefined) known.clear();
      if (isOther || now - refreshedAt >= refreshedAfter) {
        outdate();
        knownVersion = version;
        refreshedAt = now;
      }
      if (last?.set === set) return last.hashes;
      const described = [...groupVersionsIn(set.discovery)].filter(({ resources }) => resources.length > 0);
      const served = new Map(described.map((each) => [each.groupVersion, each]));
      for (const groupVersion of known.keys()) if (!served.has(groupVersion)) known.delete(groupVersion);
      // For a group version with freshness Stale, the aggregator would return 503.
      const outdated = [...served.values()].filter(
        ({ groupVersion, resources, isStale }) =>
          !isStale && known.get(groupVersion)?.text !== textOf(resources),
      );
      const due = outdated.filter(
        ({ groupVersion }) => now >= (known.get(groupVersion)?.retriedAt ?? -Infinity),
      );
      const limit = createLimiter(request.concurrentDocuments);
      await withReadTimeout(timeout, request.signal, (deadline) =>
        Promise.all(
          due.map((each) =>
            limit(async () => {
              // A document that was not begun in time is read in the next round.
              if (!deadline.aborted) await readOne(request, each, deadline);
            }),
          ),
        ),
      ).catch(() => {});
      const hashes = Object.fromEntries(
        [...served.keys()].flatMap((each) => Object.entries(known.get(each)?.hashes ?? {})),
      );
      if (outdated.length === 0) last = { set, hashes };
      return hashes;
    },
  };
}

/** @returns `undefined` if the server does not serve the group version */
export async function readResourceList(
  documents: ServerDocuments,
  groupVersion: string,
  signal: AbortSignal,
): Promise<ParsedAPIResourceList | undefined> {
  const path = `${groupVersion.includes('/') ? '/apis' : '/api'}/${groupVersion}`;
  const value = await getJsonIfServed(documents, path, signal);
  if (value === undefined) return undefined;
  const list = parseAPIResourceList(value);
  if (list.groupVersion === groupVersion) return list;
  throw new ReadError('InvalidDocument', `${path} is the document of ${list.groupVersion}`);
}

/** Another order of members makes another text: the only effect is one more read. */
function textOf(resources: DiscoveredGroupVersion['resources']): string {
  return JSON.stringify(resources);
}

function knownFrom({ discovery, storageVersionHashes }: ServedSet): Map<string, Known> {
  const known = new Map<string, Known>();
  if (storageVersionHashes === undefined) return known;
  for (const discovered of groupVersionsIn(discovery)) {
    const hashes: Record<string, string> = {};
    for (const { resource } of discovered.resources) {
      const name = storageVersionName(discovered.group, resource);
      const hash = storageVersionHashes[name];
      if (hash !== undefined) hashes[name] = hash;
    }
    // Without any hash, the document may not have been read yet.
    if (Object.keys(hashes).length === 0) continue;
    known.set(discovered.groupVersion, { text: textOf(discovered.resources), hashes, retriedAt: 0 });
  }
  return known;
}

/** Without subresources, and without names that a snapshot cannot hold. */
function hashesOf(group: string, { resources }: ParsedAPIResourceList): StorageVersionHashes {
  return Object.fromEntries(
    resources.flatMap(({ name: resource, storageVersionHash = '' }) => {
      const name = storageVersionName(group, resource);
      const isHash = storageVersionHashPattern.test(storageVersionHash);
      const isKept = isHash && !resource.includes('.') && storageVersionNameIssue(name) === undefined;
      return isKept ? [[name, storageVersionHash]] : [];
    }),
  );
}

/** A watched definition is the same object in each round. */
const hashByDefinition = new WeakMap<CustomResource, string>();

/**
 * The storage version hash of each CustomResourceDefinition, by `<group>.<resource>`: `undefined` if its storage version
 * is not served, for which API servers name none either (apiextensions customresource_discovery_controller.go).
 */
export async function hashesOfDefinitions(
  definitions: readonly CustomResource[],
): Promise<ReadonlyMap<string, string | undefined>> {
  const hashes = new Map<string, string | undefined>();
  for (const definition of definitions) {
    const { group, resource, kind, storageVersion } = definition;
    const known = hashByDefinition.get(definition);
    const hash =
      known ??
      (storageVersion === undefined ? undefined : await storageVersionHash(group, storageVersion, kind));
    if (hash !== undefined) hashByDefinition.set(definition, hash);
    hashes.set(storageVersionName(group, resource), hash);
  }
  return hashes;
}

/**
 * The set with the hashes of those custom resources that it serves. A definition with another storage version changes
 * nothing else in discovery, so the documents are not read again for it.
 */
export function withDefinedHashes(
  set: ServedSet,
  defined: ReadonlyMap<string, string | undefined>,
): ServedSet {
  const { discovery, storageVersionHashes } = set;
  if (storageVersionHashes === undefined || defined.size === 0) return set;
  const hashes = { ...storageVersionHashes };
  for (const { group, resources } of groupVersionsIn(discovery)) {
    for (const { resource } of resources) {
      const name = storageVersionName(group, resource);
      if (!defined.has(name)) continue;
      const hash = defined.get(name);
      if (hash === undefined) delete hashes[name];
      else hashes[name] = hash;
    }
  }
  return { ...set, storageVersionHashes: hashes };
}
