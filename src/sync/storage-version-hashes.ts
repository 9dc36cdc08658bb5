import { storageVersionName } from '../apimachinery/group-version.ts';
import { storageVersionHashPattern } from '../apimachinery/storage-version-hash.ts';
import { type ParsedAPIResourceList, parseAPIResourceList } from '../discovery/forms/classic.ts';
import type { Clock } from '../runtime/time.ts';
import { snapshotLimits } from '../snapshot/format/limits.ts';
import type { ServedSet } from '../snapshot/format/schema.ts';
import { storageVersionNameIssue } from '../snapshot/format/schema.ts';
import { createDocumentCache } from './document-cache.ts';
import { getJsonIfServed, ReadError, type ServerDocuments } from './server-documents.ts';
import { type DiscoveredGroupVersion, groupVersionsIn, type LastKnownServer } from './sync-server.ts';

/** For all documents of one reading, milliseconds: an extension API server that hangs must not delay the reading. */
const timeout = 2_000;
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
  readonly signal: AbortSignal;
}

export type StorageVersionHashReader = ReturnType<typeof createStorageVersionHashReader>;

/**
 * Reads at which version one server stores what it serves. Aggregated discovery does not say. Classic documents do, one per
 * group version. They are read only when the aggregated form of the group version has changed.
 */
export function createStorageVersionHashReader(
  clock: Pick<Clock, 'monotonic' | 'random'>,
  previous: LastKnownServer | undefined,
  concurrentDocuments: number,
) {
  const lists = createDocumentCache<StorageVersionHashes>({
    clock,
    timeout,
    concurrentDocuments,
    remembered: snapshotLimits.documents,
  });
  for (const { groupVersion, token, hashes } of previous === undefined ? [] : knownFrom(previous.set)) {
    lists.remember(groupVersion, hashes, token);
  }
  let knownVersion = previous?.server.version;
  let refreshedAt = clock.monotonic();
  /** All hashes of a set are known: nothing is to be done while it stays the same object. */
  let last: { readonly set: ServedSet; readonly complete: ServedSet } | undefined;

  function outdate(): void {
    last = undefined;
    lists.outdate();
  }

  return {
    /** The server may be another process from now on: each hash stays only until it has been read again. */
    outdate,
    /**
     * The set with its hashes: the same object while nothing changes. Never rejects: hashes do not decide where requests go.
     * One that cannot be read stays as last known.
     */
    async read({ documents, set, resourceLists, version, signal }: HashesRequest): Promise<ServedSet> {
      const now = clock.monotonic();
      const isOther = version !== knownVersion;
      // Another version may store at others: what is not known of it is not taken to be as before.
      if (isOther && version !== undefined && knownVersion !== undefined) lists.clear();
      if (isOther || now - refreshedAt >= refreshedAfter) {
        outdate();
        knownVersion = version;
        refreshedAt = now;
      }
      if (last?.set === set) return last.complete;
      const described = [...groupVersionsIn(set.discovery)].filter(({ resources }) => resources.length > 0);
      // For a group version with freshness Stale, the aggregator would return 503.
      const wanted = described
        .filter(({ isStale }) => !isStale)
        .map(({ group, groupVersion, resources }) => ({
          key: groupVersion,
          token: textOf(resources),
          read: async (deadline: AbortSignal) => {
            const known = resourceLists?.get(groupVersion);
            const list = known ?? (await readResourceList(documents, groupVersion, deadline));
            if (list !== undefined) return hashesOf(group, list);
            throw new ReadError('UnexpectedStatus', `${groupVersion} is not served`);
          },
        }));
      await lists.read(wanted, signal);
      const known = described.map(({ groupVersion }) => lists.state(groupVersion));
      const storageVersionHashes: StorageVersionHashes = Object.assign(
        {},
        ...known.map((state) => (state.kind === 'known' ? state.value : {})),
      );
      const complete = { ...set, storageVersionHashes };
      if (wanted.every(lists.isCurrent)) last = { set, complete };
      return complete;
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

function knownFrom({ discovery, storageVersionHashes = {} }: ServedSet) {
  return [...groupVersionsIn(discovery)].flatMap(({ group, groupVersion, resources }) => {
    const names = resources.map(({ resource }) => storageVersionName(group, resource));
    const hashes = Object.fromEntries(
      names.flatMap((name) => {
        const hash = storageVersionHashes[name];
        return hash === undefined ? [] : [[name, hash]];
      }),
    );
    // Without any hash, the document may not have been read yet.
    return Object.keys(hashes).length === 0 ? [] : [{ groupVersion, token: textOf(resources), hashes }];
  });
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
