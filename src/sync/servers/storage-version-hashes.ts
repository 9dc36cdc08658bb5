import type { APIGroupDiscovery, APIVersionDiscovery } from '../../apimachinery/discovery-types.ts';
import { groupVersionString, storageVersionName } from '../../apimachinery/group-version.ts';
import { type ParsedAPIResourceList, parseAPIResourceList } from '../../discovery/forms/parse-classic.ts';
import type { Clock } from '../../runtime/clock.ts';
import { createLimiter } from '../../runtime/limiter.ts';
import type { ServedSet } from '../../snapshot/format/types.ts';
import { getJson } from '../documents/json-document.ts';
import { ReadError, type ServerDocuments, withReadTimeout } from '../documents/server-documents.ts';
import type { LastKnownServer } from './server-reading.ts';

/** `<group>.<resource>` to `storageVersionHash`, as in `ServedSet.storageVersionHashes`. */
export type StorageVersionHashes = NonNullable<ServedSet['storageVersionHashes']>;

/** For all documents of one reading, milliseconds: an extension API server that hangs must not delay the reading. */
const timeout = 2_000;
/** Until a document that could not be read is read again, milliseconds. */
const retriedAfter = 30_000;
/**
 * Until everything is read again, milliseconds. After an update, an extension API server may store at another version
 * with the same discovery.
 */
const refreshedAfter = 600_000;

export interface StorageVersionHashReaderOptions {
  readonly clock: Pick<Clock, 'monotonic' | 'random'>;
  readonly previous?: LastKnownServer | undefined;
  /** Documents read in one reading. Default: no limit. */
  readonly maximumDocuments?: number | undefined;
}

export interface HashesRequest {
  readonly documents: ServerDocuments;
  readonly groups: readonly APIGroupDiscovery[];
  /** Classic documents that have been read, by group version. */
  readonly resourceLists?: ReadonlyMap<string, ParsedAPIResourceList> | undefined;
  /** `gitVersion` of the server. */
  readonly version: string | undefined;
  readonly concurrentDocuments: number;
  readonly signal: AbortSignal;
}

/** Reads at which version one server stores what it serves. */
export interface StorageVersionHashReader {
  /** Never rejects. A hash that cannot be read stays as last known. */
  read(request: HashesRequest): Promise<StorageVersionHashes>;
  /** The server may be another process from now on: each hash stays only until it has been read again. */
  outdate(): void;
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
  maximumDocuments = Number.POSITIVE_INFINITY,
}: StorageVersionHashReaderOptions): StorageVersionHashReader {
  const known = previous === undefined ? new Map<string, Known>() : knownFrom(previous.set);
  let knownVersion = previous?.server.version;
  let refreshedAt = clock.monotonic();

  function outdate(): void {
    for (const entry of known.values()) Object.assign(entry, { text: '', retriedAt: -Infinity });
  }

  async function readOne(
    { documents, resourceLists }: HashesRequest,
    { group, version, groupVersion, text }: GroupVersion,
    signal: AbortSignal,
  ): Promise<void> {
    // It counts as failed until it has arrived: a read can hang for ever.
    const hashes = known.get(groupVersion)?.hashes ?? {};
    known.set(groupVersion, { text: '', hashes, retriedAt: clock.monotonic() + retriedAfter });
    try {
      const path = group === '' ? `/api/${version}` : `/apis/${groupVersion}`;
      const list =
        resourceLists?.get(groupVersion) ??
        parseAPIResourceList(await getJson(documents, path, 'application/json', signal));
      if (list.groupVersion !== groupVersion) {
        throw new ReadError('InvalidDocument', `${path} is the document of ${list.groupVersion}`);
      }
      known.set(groupVersion, { text, hashes: hashesOf(group, list), retriedAt: 0 });
    } catch {
      // Hashes do not decide where requests go, so the reading succeeds without them.
    }
  }

  return {
    outdate,
    async read(request) {
      const now = clock.monotonic();
      if (request.version !== knownVersion || now - refreshedAt >= refreshedAfter) {
        outdate();
        knownVersion = request.version;
        refreshedAt = now;
      }
      const served = groupVersionsOf(request.groups);
      for (const groupVersion of known.keys()) if (!served.has(groupVersion)) known.delete(groupVersion);
      const due = [...served.values()].filter(({ isStale, groupVersion, text }) => {
        const entry = known.get(groupVersion);
        // For a group version with freshness Stale, the aggregator would return 503.
        return !isStale && (entry === undefined || (entry.text !== text && now >= entry.retriedAt));
      });
      // If not all can be read at once, chance gives each its turn.
      const first = due.length > maximumDocuments ? Math.floor(clock.random() * due.length) : 0;
      const chosen = [...due.slice(first), ...due.slice(0, first)].slice(0, maximumDocuments);
      const limit = createLimiter(request.concurrentDocuments);
      await withReadTimeout(timeout, request.signal, (deadline) =>
        Promise.all(
          chosen.map((each) =>
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

interface GroupVersion {
  readonly group: string;
  readonly version: string;
  readonly groupVersion: string;
  readonly text: string;
  readonly isStale: boolean;
}

function groupVersionsOf(groups: readonly APIGroupDiscovery[]): Map<string, GroupVersion> {
  const served = new Map<string, GroupVersion>();
  for (const { metadata, versions = [] } of groups) {
    const group = metadata.name ?? '';
    for (const described of versions) {
      if ((described.resources ?? []).length === 0) continue;
      const { version, freshness } = described;
      const groupVersion = groupVersionString(group, version);
      const text = textOf(described);
      served.set(groupVersion, { group, version, groupVersion, text, isStale: freshness === 'Stale' });
    }
  }
  return served;
}

/** Another order of members makes another text: the only effect is one more read. */
function textOf({ resources }: APIVersionDiscovery): string {
  return JSON.stringify(resources);
}

/** The hashes of a snapshot, by group version. */
function knownFrom({ discovery = [], storageVersionHashes }: ServedSet): Map<string, Known> {
  const known = new Map<string, Known>();
  if (storageVersionHashes === undefined) return known;
  for (const { metadata, versions = [] } of discovery) {
    const group = metadata.name ?? '';
    for (const described of versions) {
      const hashes: Record<string, string> = {};
      for (const { resource } of described.resources ?? []) {
        const name = storageVersionName(group, resource);
        const hash = storageVersionHashes[name];
        if (hash !== undefined) hashes[name] = hash;
      }
      // Without any hash, the document may not have been read yet.
      if (Object.keys(hashes).length === 0) continue;
      const groupVersion = groupVersionString(group, described.version);
      known.set(groupVersion, { text: textOf(described), hashes, retriedAt: 0 });
    }
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
