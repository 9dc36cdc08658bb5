import type { APIGroupDiscovery } from '../apimachinery/discovery-types.ts';
import { canonicalJson } from '../runtime/canonical-json.ts';
import type { AdvertisedAddress } from '../snapshot/addresses/addresses.ts';
import { canonicalTexts, keyOfText, servedSetText } from '../snapshot/format/packed-snapshot.ts';
import type { ServedSet, Snapshot, SnapshotServer } from '../snapshot/format/schema.ts';
import { snapshotApiVersion, snapshotKind } from '../snapshot/format/schema.ts';
import { type ClusterObjects, excludeGroupVersions, sharedGroupVersions } from './shared-objects.ts';
import { hashesOfDefinitions, withDefinedHashes } from './storage-version-hashes.ts';
import { type DecodableVersions, type UndecodableVersions, undecodableVersions } from './storage-versions.ts';
import type { ServerDescription } from './sync-server.ts';
import {
  type LastKnownServer,
  lastKnown,
  type SeenStart,
  type ServerReading,
  type SuccessfulReading,
} from './sync-server.ts';
import { versionChanges } from './version-changes.ts';

export interface SnapshotOptions {
  readonly cluster?: string | undefined;
}

export interface SnapshotInput {
  readonly servers: readonly ServerDescription[];
  /** By server ID. A server without a reading is treated as one that could not be read. */
  readonly readings: ReadonlyMap<string, ServerReading>;
  /** IDs of servers that another process runs than the one that was read. Default: none. */
  readonly unread?: ReadonlySet<string> | undefined;
  /** The last start of each server of which it was seen, by ID. Default: none. */
  readonly starts?: ReadonlyMap<string, SeenStart> | undefined;
  readonly clusterObjects: ClusterObjects;
  /** What servers serve by their StorageVersions, by server ID. */
  readonly storageVersions?: ReadonlyMap<string, ServedSet['storageVersions']> | undefined;
  readonly decodableVersions?: DecodableVersions | undefined;
  /** Addresses that routers advertise (`AdvertisedAddresses`), by server ID. */
  readonly advertised?: ReadonlyMap<string, AdvertisedAddress> | undefined;
  /**
   * Digests of the servers' schemas, by server ID (`SchemaReader`). `undefined`: there is nothing to compare, and no set
   * has them.
   */
  readonly schemas?: ReadonlyMap<string, NonNullable<ServedSet['schemas']>> | undefined;
  readonly previous?: Snapshot | undefined;
  /** The highest generation that a router is known to hold. */
  readonly heldGeneration?: number | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly options?: SnapshotOptions | undefined;
}

export interface SnapshotOutput {
  /** `undefined` if no server is known: no snapshot is better than an empty one. */
  readonly snapshot: Snapshot | undefined;
  /** False if the cluster serves the same as before; `snapshot` is then the previous one. */
  readonly changed: boolean;
  readonly warnings: readonly string[];
}

/**
 * Makes a snapshot of the readings. Pure.
 *
 * A server that could not be read keeps its last known resources and is marked stale; a server that has left keeps them
 * and is marked departed. A server that was never read serves what its StorageVersions say, or is left out with a
 * warning. Everything else that could not be read (APIServices, CustomResourceDefinitions, OpenAPI indexes, versions)
 * stays as last known.
 */
export async function buildSnapshot(input: SnapshotInput): Promise<SnapshotOutput> {
  const { previous, clusterObjects, now } = input;
  const warnings: string[] = [...clusterObjects.warnings];
  const apiServices = clusterObjects.apiServices ?? previous?.apiServices ?? [];
  const customResourceGroups = clusterObjects.customResourceGroups ?? previous?.customResourceGroups ?? [];
  const shared = sharedGroupVersions(apiServices, customResourceGroups);

  const definedHashes = await hashesOfDefinitions(clusterObjects.customResources ?? []);
  const servers: SnapshotServer[] = [];
  const sets = createSetCollection((given) =>
    excludeGroupVersions(withDefinedHashes(given, definedHashes), shared),
  );
  const contents: { readonly description: ServerDescription; readonly content: ServerContent }[] = [];
  for (const description of input.servers) {
    const { id } = description;
    const content = serverContent(
      {
        id,
        departedAt: description.departedAt,
        reading: input.readings.get(id),
        known: lastKnown(previous, id),
        storageVersions: input.storageVersions?.get(id),
        schemas: input.schemas?.get(id),
      },
      (warning) => warnings.push(warning),
    );
    if (content !== undefined) contents.push({ description, content });
  }
  const undecodable =
    input.schemas === undefined
      ? undefined
      : await undecodableVersions(
          contents.map(({ description: { id }, content: { version, set } }) => ({ id, version, set })),
          input.decodableVersions ?? new Map(),
          shared,
        );
  const sources = new Set<'discovery' | 'storageversions'>();
  for (const { description, content } of contents) {
    const { id } = description;
    const { set, keptAs } = withUndecodable(content, undecodable?.get(id));
    if (keptAs !== undefined) sets.keep(keptAs, set);
    const serves = keptAs ?? (await sets.add(set));
    const server = snapshotServer(description, input.advertised?.get(id), content, serves);
    servers.push(input.unread?.has(id) === true ? { ...server, unread: true } : server);
    for (const source of content.sources) sources.add(source);
  }
  if (servers.length === 0) return { snapshot: undefined, changed: false, warnings };

  const changes = versionChanges(previous, servers, input.servers, now, input.starts);
  const candidate: Snapshot = {
    apiVersion: snapshotApiVersion,
    kind: snapshotKind,
    metadata: {
      generation: nextGeneration(previous?.metadata.generation, input.heldGeneration, now),
      createdAt: new Date(now).toISOString(),
      ...(input.options?.cluster === undefined ? {} : { cluster: input.options.cluster }),
      ...(changes.length === 0 ? {} : { versionChanges: changes }),
      source: sources.size === 2 ? 'both' : ([...sources][0] ?? 'discovery'),
    },
    servers: servers.sort((one, other) => (one.id < other.id ? -1 : 1)),
    servedSets: sets.sets(),
    apiServices,
    customResourceGroups,
  };
  if (previous !== undefined && content(previous) === content(candidate)) {
    return { snapshot: previous, changed: false, warnings };
  }
  return { snapshot: candidate, changed: true, warnings };
}

/**
 * The generation of the next snapshot: one more than that of the previous one. Without a previous one (first start, or
 * state lost) it is the time in seconds since the epoch. Snapshots change less than once a second on average, so that is
 * more than any generation that an earlier run or another sync job has reached from such a start.
 *
 * @param held the highest generation that a router is known to hold (from its 409), in case clocks were wrong
 * @param now milliseconds since the epoch
 */
export function nextGeneration(previous: number | undefined, held: number | undefined, now: number): number {
  const generation = previous === undefined ? Math.max(1, Math.floor(now / 1000)) : previous + 1;
  return held === undefined ? generation : Math.max(generation, held + 1);
}

/** A set of the previous snapshot keeps its key while the other servers store the same versions as then. */
function withUndecodable(
  { set, keptAs }: ServerContent,
  undecodable: UndecodableVersions | undefined,
): Pick<ServerContent, 'set' | 'keptAs'> {
  const { undecodableVersions: before, ...rest } = set;
  if (keptAs !== undefined && canonicalJson(before ?? {}) === canonicalJson(undecodable ?? {})) {
    return { set, keptAs };
  }
  return { set: undecodable === undefined ? rest : { ...rest, undecodableVersions: undecodable } };
}

function snapshotServer(
  { id, address, url, addressSource, serverName, hostname }: ServerDescription,
  advertised: AdvertisedAddress | undefined,
  { version, stale, departedAt }: ServerContent,
  serves: string,
): SnapshotServer {
  return {
    id,
    ...(address === undefined ? {} : { address }),
    ...(url === undefined ? {} : { url }),
    ...(addressSource === undefined || (address ?? url) === undefined ? {} : { addressSource }),
    ...(advertised === undefined ? {} : { advertised }),
    ...(serverName === undefined ? {} : { serverName }),
    ...(version === undefined ? {} : { version }),
    ...(hostname === undefined ? {} : { hostname }),
    serves,
    ...(stale ? { stale: true } : {}),
    ...(departedAt === undefined ? {} : { departedAt: new Date(departedAt).toISOString() }),
  };
}

/** Everything but generation and time, as text to compare. The keys of the sets stand for their content. */
function content(snapshot: Snapshot): string {
  const { generation: _generation, createdAt: _createdAt, ...metadata } = snapshot.metadata;
  return canonicalJson({ ...snapshot, metadata, servedSets: Object.keys(snapshot.servedSets).sort() });
}

/**
 * Collects the sets of one snapshot. Most of its servers serve the same, and each set is computed once.
 *
 * @param refine makes the set that is kept; must depend only on its argument
 */
function createSetCollection(refine: (given: ServedSet) => ServedSet) {
  const textOf = canonicalTexts();
  const keysByGiven = new Map<string, string>();
  const groupsByText = new Map<string, APIGroupDiscovery>();
  const sets = new Map<string, ServedSet>();

  /** One object for equal groups: that is how sets are packed and read. */
  function withSharedGroups(set: ServedSet): ServedSet {
    if (set.discovery === undefined) return set;
    const discovery = set.discovery.map((group) => {
      const text = textOf(group);
      const known = groupsByText.get(text) ?? group;
      groupsByText.set(text, known);
      return known;
    });
    return { ...set, discovery };
  }

  return {
    /** Adds the set of a reading. @returns the key of the refined set */
    async add(given: ServedSet): Promise<string> {
      // Equal texts are equal sets. Equal sets with another order of members are refined twice, which costs only time.
      const text = JSON.stringify(given);
      const known = keysByGiven.get(text);
      if (known !== undefined) return known;
      const set = withSharedGroups(refine(given));
      const key = await keyOfText(servedSetText(set, textOf));
      keysByGiven.set(text, key);
      sets.set(key, set);
      return key;
    },
    keep(key: string, set: ServedSet): void {
      if (!sets.has(key)) sets.set(key, withSharedGroups(set));
    },
    sets: (): Readonly<Record<string, ServedSet>> =>
      Object.fromEntries([...sets].sort(([one], [other]) => (one < other ? -1 : 1))),
  };
}

interface ServerKnowledge {
  readonly id: string;
  readonly departedAt?: number | undefined;
  readonly reading: ServerReading | undefined;
  readonly known: LastKnownServer | undefined;
  /** What it serves by its StorageVersions. */
  readonly storageVersions: ServedSet['storageVersions'] | undefined;
  readonly schemas: ServedSet['schemas'];
}

interface ServerContent {
  readonly set: ServedSet;
  /** The set is that of the previous snapshot, under its key there. */
  readonly keptAs?: string;
  readonly version: string | undefined;
  readonly stale: boolean;
  readonly departedAt?: number | undefined;
  readonly sources: readonly ('discovery' | 'storageversions')[];
}

/**
 * Chooses the best source for a server: its discovery, else its last known resources, else its StorageVersions.
 *
 * @param warn called for sources that could not be used, and for contradictions
 * @returns `undefined` if nothing is known of the server
 */
function serverContent(
  knowledge: ServerKnowledge,
  warn: (warning: string) => void,
): ServerContent | undefined {
  const { id, departedAt, reading, known, storageVersions } = knowledge;
  // A departed server that can be read is back.
  if (reading?.ok === true) return readContent(knowledge, reading, warn);
  const reason = reading === undefined ? 'not read yet' : reading.reason;
  // An earlier reading is the better source: it has subresources, and resources that are not stored.
  if (departedAt === undefined && storageVersions !== undefined && known?.set.discovery === undefined) {
    warn(`server ${id} is known only by its StorageVersions: ${reason}`);
    return {
      set: { storageVersions },
      version: known?.server.version,
      stale: false,
      sources: ['storageversions'],
    };
  }
  if (known === undefined) {
    if (departedAt === undefined) {
      warn(`server ${id} is left out, because nothing is known of it: ${reason}`);
    }
    return undefined;
  }
  warn(
    departedAt === undefined
      ? `server ${id} cannot be read, so its last known resources are used: ${reason}`
      : `server ${id} has departed: its resources stay known, without a server, until it is back or the grace period ends`,
  );
  const { version } = known.server;
  return { ...kept(knowledge, known), version, stale: true, departedAt, sources: ['discovery'] };
}

function kept(
  { schemas }: ServerKnowledge,
  { server, set }: LastKnownServer,
): Pick<ServerContent, 'set' | 'keptAs'> {
  if (schemas === set.schemas) return { set, keptAs: server.serves };
  const { schemas: _schemas, ...rest } = set;
  return { set: schemas === undefined ? rest : { ...rest, schemas } };
}

function readContent(
  { id, known, storageVersions, schemas }: ServerKnowledge,
  reading: SuccessfulReading,
  warn: (warning: string) => void,
): ServerContent {
  if (reading.openApi.kind === 'failed') {
    warn(`the OpenAPI v3 index of server ${id} is unknown: ${reading.openApi.reason}`);
  }
  const { version, versionIssue } = reading;
  if (versionIssue !== undefined) warn(`the version of server ${id} is unknown: ${versionIssue}`);
  const set = withOpenApi(reading, known?.set);
  return {
    set: schemas === undefined ? set : { ...set, schemas },
    // A server that reports another version now is no longer of the known one.
    version: versionIssue === undefined ? (version ?? known?.server.version) : undefined,
    stale: false,
    sources: storageVersions === undefined ? ['discovery'] : ['discovery', 'storageversions'],
  };
}

function withOpenApi({ set, openApi }: SuccessfulReading, known: ServedSet | undefined): ServedSet {
  const paths = openApi.kind === 'read' ? openApi.paths : undefined;
  const openapiV3 = openApi.kind === 'failed' ? known?.openapiV3 : paths;
  return openapiV3 === undefined ? set : { ...set, openapiV3 };
}
