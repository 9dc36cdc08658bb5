import { storageVersionName } from '../apimachinery/group-version.ts';
import { storageVersionHash } from '../apimachinery/storage-version-hash.ts';
import type { ParsedAPIResourceList } from '../discovery/forms/classic.ts';
import type { Clock } from '../runtime/time.ts';
import { createLimiter } from '../runtime/time.ts';
import type { ServedSet } from '../snapshot/format/schema.ts';
import type { HashesRequest, StorageVersionHashes, StorageVersionHashReader } from './read-server.ts';
import { readResourceList } from './read-server.ts';
import { withReadTimeout } from './server-documents.ts';
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

interface StorageVersionHashReaderOptions {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly previous?: LastKnownServer | undefined;
}

interface Known {
  /** The aggregated form of the group version when it was read; empty if it must be read again. */
  text: string;
  hashes: StorageVersionHashes;
  /** By the monotonic clock. */
  retriedAt: number;
}

/**
 * Aggregated discovery does not say at which version resources are stored. Classic documents do, one per group version.
 * They are read only when the aggregated form of the group version has changed.
 */
export function createStorageVersionHashReader({
  clock,
  previous,
}: StorageVersionHashReaderOptions): StorageVersionHashReader {
  const known = previous === undefined ? new Map<string, Known>() : knownFrom(previous.set);
  let knownVersion = previous?.server.version;
  let refreshedAt = clock.monotonic();

  function outdate(): void {
    for (const entry of known.values()) Object.assign(entry, { text: '', retriedAt: -Infinity });
  }

  async function readOne(
    { documents, resourceLists }: HashesRequest,
    discovered: DiscoveredGroupVersion,
    signal: AbortSignal,
  ): Promise<void> {
    const { group, groupVersion } = discovered;
    // It counts as failed until it has arrived: a read can hang for ever.
    const hashes = known.get(groupVersion)?.hashes ?? {};
    known.set(groupVersion, { text: '', hashes, retriedAt: clock.monotonic() + retriedAfter });
    try {
      const list =
        resourceLists?.get(groupVersion) ?? (await readResourceList(documents, groupVersion, signal));
      if (list === undefined) return;
      known.set(groupVersion, { text: textOf(discovered), hashes: hashesOf(group, list), retriedAt: 0 });
    } catch {
      // Hashes do not decide where requests go, so the reading succeeds without them.
    }
  }

  return {
    outdate,
    async read(request) {
      const now = clock.monotonic();
      const isOther = request.version !== knownVersion;
      // Another version may store at others: what is not known of it is not taken to be as before.
      if (isOther && request.version !== undefined && knownVersion !== undefined) known.clear();
      if (isOther || now - refreshedAt >= refreshedAfter) {
        outdate();
        knownVersion = request.version;
        refreshedAt = now;
      }
      const described = [...groupVersionsIn(request.groups)].filter(({ resources }) => resources.length > 0);
      const served = new Map(described.map((each) => [each.groupVersion, each]));
      for (const groupVersion of known.keys()) if (!served.has(groupVersion)) known.delete(groupVersion);
      const due = [...served.values()].filter((each) => {
        const entry = known.get(each.groupVersion);
        // For a group version with freshness Stale, the aggregator would return 503.
        return (
          !each.isStale && (entry === undefined || (entry.text !== textOf(each) && now >= entry.retriedAt))
        );
      });
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
      return Object.fromEntries(
        [...served.keys()].flatMap((each) => Object.entries(known.get(each)?.hashes ?? {})),
      );
    },
  };
}

/** Another order of members makes another text: the only effect is one more read. */
function textOf({ resources }: DiscoveredGroupVersion): string {
  return JSON.stringify(resources);
}

/** The hashes of a snapshot, by group version. */
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
    known.set(discovered.groupVersion, { text: textOf(discovered), hashes, retriedAt: 0 });
  }
  return known;
}

function hashesOf(group: string, { resources }: ParsedAPIResourceList): StorageVersionHashes {
  return Object.fromEntries(
    resources.flatMap(({ name, storageVersionHash = '' }) =>
      storageVersionHash === '' || name.includes('/') || name.includes('.')
        ? []
        : [[storageVersionName(group, name), storageVersionHash]],
    ),
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
