import type { APIGroupDiscovery, APIVersionDiscovery } from '../../apimachinery/discovery-types.ts';
import { groupVersionString, storageVersionName } from '../../apimachinery/group-version.ts';
import { type ParsedAPIResourceList, parseAPIResourceList } from '../../discovery/forms/parse-classic.ts';
import type { Clock } from '../../runtime/clock.ts';
import { withDeadline } from '../../runtime/deadline.ts';
import { createLimiter } from '../../runtime/limiter.ts';
import type { ServedSet } from '../../snapshot/format/types.ts';
import { getJson } from '../documents/json-document.ts';
import { ReadError, type ServerDocuments } from '../documents/server-documents.ts';

/** `<group>.<resource>` to `storageVersionHash`, as in `ServedSet.storageVersionHashes`. */
export type StorageVersionHashes = NonNullable<ServedSet['storageVersionHashes']>;

/** Milliseconds for all documents of one reading: an extension API server that hangs must not hold up a server. */
const timeout = 2_000;
/** Milliseconds until a document that could not be read is tried again. */
const retriedAfter = 30_000;
/**
 * Milliseconds until everything is read again. An extension API server that is updated may store at another version
 * and describe itself in the same words.
 */
const refreshedAfter = 600_000;

export interface StorageVersionHashReaderOptions {
  readonly clock: Pick<Clock, 'monotonic' | 'random'>;
  /** What was known of the server before, and as which version it was known. */
  readonly previous?: { readonly set: ServedSet; readonly version: string | undefined } | undefined;
  /** Documents read in one reading. Default: no limit. */
  readonly maximumDocuments?: number | undefined;
}

export interface HashesRequest {
  readonly documents: ServerDocuments;
  readonly groups: readonly APIGroupDiscovery[];
  /** Classic documents that were read already, by group version. */
  readonly resourceLists?: ReadonlyMap<string, ParsedAPIResourceList> | undefined;
  /** `gitVersion` of the server. */
  readonly version: string | undefined;
  readonly concurrentDocuments: number;
  readonly signal: AbortSignal;
}

/** Reads at which version one server stores what it serves. */
export interface StorageVersionHashReader {
  /** Never rejects: what cannot be read stays as it was last known. */
  read(request: HashesRequest): Promise<StorageVersionHashes>;
  /** Another process may answer from now on: what is known stays only until it has been read. */
  outdate(): void;
}

interface Known {
  /** The aggregated form of the group version when it was read; empty when that no longer counts. */
  text: string;
  hashes: StorageVersionHashes;
  /** By the monotonic clock. */
  retriedAt: number;
}

/**
 * Aggregated discovery does not say at which version resources are stored; classic documents do, one for each group
 * version. They are read when a group version is described in other words than before, and not once a second.
 */
export function createStorageVersionHashReader({
  clock,
  previous,
  maximumDocuments = Number.POSITIVE_INFINITY,
}: StorageVersionHashReaderOptions): StorageVersionHashReader {
  const known = previous === undefined ? new Map<string, Known>() : knownFrom(previous.set);
  let knownVersion = previous?.version;
  let refreshedAt = clock.monotonic();

  function outdate(): void {
    for (const entry of known.values()) Object.assign(entry, { text: '', retriedAt: -Infinity });
  }

  async function readOne(
    { documents, resourceLists }: HashesRequest,
    { group, version, groupVersion, text }: GroupVersion,
    signal: AbortSignal,
  ): Promise<void> {
    // Counts as failed until it is there: a document may never come, and tell nobody.
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
      // Decides nothing about routing, so it is no fault of the reading.
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
        // A Stale one's document would be the 503 of the aggregator.
        return !isStale && (entry === undefined || (entry.text !== text && now >= entry.retriedAt));
      });
      // Where not all can be read at once, each has its turn.
      const first = due.length > maximumDocuments ? Math.floor(clock.random() * due.length) : 0;
      const chosen = [...due.slice(first), ...due.slice(0, first)].slice(0, maximumDocuments);
      const limit = createLimiter(request.concurrentDocuments);
      const tooSlow = () => new ReadError('Unreachable', `no whole reading within ${timeout} ms`);
      await withDeadline(timeout, request.signal, tooSlow, (deadline) =>
        Promise.all(
          chosen.map((each) =>
            limit(async () => {
              // What was not begun in time is read in the next round.
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

/** Members in another order make another text, which costs a document to read and no more. */
function textOf({ resources }: APIVersionDiscovery): string {
  return JSON.stringify(resources);
}

/** As far as a snapshot tells it. What it says of a group version may be from several documents: equal in all. */
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
      // None: it may not have been read yet.
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
