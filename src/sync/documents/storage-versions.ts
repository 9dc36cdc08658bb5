import * as v from 'valibot';
import { parseStorageVersionName, storageVersionName } from '../../apimachinery/group-version.ts';
import { type Classic, parseClassic } from '../../discovery/forms/classic.ts';
import { isSameJson } from '../../runtime/same-json.ts';
import type { Clock } from '../../runtime/time.ts';
import { snapshotLimits } from '../../snapshot/format/limits.ts';
import {
  type ServedSet,
  storageVersionHashPattern,
  storageVersionNameIssue,
} from '../../snapshot/format/schema.ts';
import { DocumentCache } from './document-cache.ts';
import { checkedDocument, getJson, ReadError, type ServerDocuments } from './server-documents.ts';
import {
  acceptableNames,
  type DiscoveredGroupVersion,
  groupVersionsIn,
  type LastKnownServer,
} from './sync-server.ts';
import type { SyncTiming } from './timing.ts';

export const storageVersionsPath = '/apis/internal.apiserver.k8s.io/v1alpha1/storageversions';

const storageVersion = v.object({
  metadata: v.object({ name: v.string() }),
  status: v.nullish(
    v.object({
      storageVersions: v.nullish(
        v.array(
          v.object({
            apiServerID: v.string(),
            servedVersions: v.nullish(v.array(v.string()), []),
          }),
        ),
        [],
      ),
    }),
    {},
  ),
});

/**
 * Reads one StorageVersion. Servers before 1.28 write no `servedVersions`; `decodableVersions` do not replace them,
 * because servers decode more than they serve.
 */
export function parseStorageVersion(object: unknown) {
  const { metadata, status } = checkedDocument(storageVersion, storageVersionsPath, object);
  return { name: metadata.name, servers: status.storageVersions };
}

type StorageVersionEntry = ReturnType<typeof parseStorageVersion>;

/**
 * Resources that each server serves by its StorageVersions, in the snapshot's form. An object names the group that a
 * resource is stored under. Its group versions can also belong to other groups that serve the resource, and are listed
 * under those.
 */
export function servedByStorageVersions(
  entries: Iterable<StorageVersionEntry>,
): ReadonlyMap<string, ServedSet['storageVersions']> {
  const served = new Map<string, Map<string, Set<string>>>();
  for (const { name, servers } of entries) {
    const resource = parseStorageVersionName(name)?.resource;
    if (resource === undefined) continue;
    for (const { apiServerID: id, servedVersions } of servers) {
      if (servedVersions.length === 0) continue;
      const ofServer = served.get(id) ?? new Map<string, Set<string>>();
      served.set(id, ofServer);
      for (const groupVersion of servedVersions) {
        const slash = groupVersion.indexOf('/');
        const served = storageVersionName(groupVersion.slice(0, Math.max(slash, 0)), resource);
        ofServer.set(served, (ofServer.get(served) ?? new Set()).add(groupVersion.slice(slash + 1)));
      }
    }
  }
  return new Map([...served].map(([id, byName]) => [id, acceptableNames(plain(byName))]));
}

function plain(byName: ReadonlyMap<string, ReadonlySet<string>>): Record<string, readonly string[]> {
  const names = [...byName.keys()].sort();
  return Object.fromEntries(names.map((name) => [name, [...(byName.get(name) ?? [])].sort()]));
}

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
  /** Lists that classic discovery was read from: they have the hashes. */
  readonly resourceLists: ReadonlyMap<string, Classic<'APIResourceList'>> | undefined;
  readonly version: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * Reads at which version one server stores what it serves. Aggregated discovery does not say. Classic documents do, one per
 * group version. They are read only when the aggregated form of the group version has changed.
 */
export class StorageVersionHashReader {
  readonly #clock: Pick<Clock, 'monotonic' | 'random'>;
  readonly #lists: DocumentCache<StorageVersionHashes>;
  #version: string | undefined;
  #refreshedAt: number;
  /** All hashes of a set are known: nothing is to be done while it stays the same object. */
  #last: { readonly set: ServedSet; readonly complete: ServedSet } | undefined;

  constructor(
    clock: Pick<Clock, 'monotonic' | 'random'>,
    previous: LastKnownServer | undefined,
    timing: Pick<SyncTiming, 'concurrentDocuments' | 'storageVersionTimeout'>,
  ) {
    this.#clock = clock;
    this.#version = previous?.server.version;
    this.#refreshedAt = clock.monotonic();
    this.#lists = new DocumentCache({
      clock,
      timeout: timing.storageVersionTimeout,
      concurrentDocuments: timing.concurrentDocuments,
      remembered: snapshotLimits.documents,
    });
    for (const { groupVersion, token, hashes } of previous === undefined ? [] : knownFrom(previous.set)) {
      this.#lists.remember(groupVersion, hashes, token);
    }
  }

  /** The server may be another process from now on: each hash stays only until it has been read again. */
  outdate(): void {
    this.#last = undefined;
    this.#lists.outdate();
  }

  /**
   * The set with its hashes: the same object while nothing changes. Never rejects: what a server serves counts without them. A
   * resource whose hash is not known is one that servers may store differently.
   */
  async read(request: HashesRequest): Promise<ServedSet> {
    const { set, version } = request;
    this.#follow(version);
    if (this.#last?.set === set) return this.#last.complete;
    const described = [...groupVersionsIn(set.discovery)].filter(({ resources }) => resources.length > 0);
    // For a group version with freshness Stale, the aggregator would return 503.
    const wanted = described.filter(({ isStale }) => !isStale).map((each) => wantedList(each, request));
    await this.#lists.read(wanted, request.signal);
    const known = described.map(({ groupVersion }) => this.#lists.state(groupVersion));
    const storageVersionHashes: StorageVersionHashes = Object.assign(
      {},
      ...known.map((state) => (state.kind === 'known' ? state.value : {})),
    );
    const complete = withHashes(set, storageVersionHashes);
    if (wanted.every((list) => this.#lists.isCurrent(list))) this.#last = { set, complete };
    return complete;
  }

  /** Another version may store at others: what is not known of it is not taken to be as before. */
  #follow(version: string | undefined): void {
    const now = this.#clock.monotonic();
    const isOther = version !== this.#version;
    if (isOther && version !== undefined && this.#version !== undefined) this.#lists.clear();
    if (!isOther && now - this.#refreshedAt < refreshedAfter) return;
    this.outdate();
    this.#version = version;
    this.#refreshedAt = now;
  }
}

function wantedList(
  { group, groupVersion, resources }: DiscoveredGroupVersion,
  { documents, resourceLists }: HashesRequest,
) {
  return {
    key: groupVersion,
    token: textOf(resources),
    read: async (deadline: AbortSignal) => {
      const known = resourceLists?.get(groupVersion);
      const list = known ?? (await readResourceList(documents, groupVersion, deadline));
      if (list !== undefined) return hashesOf(group, list);
      throw new ReadError('UnexpectedStatus', `${groupVersion} is not served`);
    },
  };
}

const completeBefore = new WeakMap<ServedSet, ServedSet>();

/** One object for servers that share a set and store it alike, which is then worked through once. */
function withHashes(set: ServedSet, storageVersionHashes: StorageVersionHashes): ServedSet {
  const before = completeBefore.get(set);
  if (before !== undefined && isSameJson(before.storageVersionHashes, storageVersionHashes)) return before;
  const complete = { ...set, storageVersionHashes };
  completeBefore.set(set, complete);
  return complete;
}

/** @returns `undefined` if the server does not serve the group version */
export async function readResourceList(
  documents: ServerDocuments,
  groupVersion: string,
  signal: AbortSignal,
): Promise<Classic<'APIResourceList'> | undefined> {
  const path = `${groupVersion.includes('/') ? '/apis' : '/api'}/${groupVersion}`;
  const value = await getJson(documents, path, signal);
  if (value === undefined) return undefined;
  const list = parseClassic('APIResourceList', value);
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
function hashesOf(group: string, { resources }: Classic<'APIResourceList'>): StorageVersionHashes {
  return Object.fromEntries(
    resources.flatMap(({ name: resource, storageVersionHash = '' }) => {
      const name = storageVersionName(group, resource);
      const isHash = storageVersionHashPattern.test(storageVersionHash);
      const isKept = isHash && !resource.includes('.') && storageVersionNameIssue(name) === undefined;
      return isKept ? [[name, storageVersionHash]] : [];
    }),
  );
}
