import type { VersionParts } from '../apimachinery/server-version.ts';
import { isSameJson } from '../runtime/same-json.ts';
import type { AdvertisedAddress } from '../snapshot/addresses/addresses.ts';
import { isGenerationAhead } from '../snapshot/format/limits.ts';
import { isSameContent } from '../snapshot/format/packed-snapshot.ts';
import { checkServedSet } from '../snapshot/format/parse-snapshot.ts';
import {
  type ServedSet,
  type Snapshot,
  type SnapshotServer,
  snapshotApiVersion,
  snapshotKind,
} from '../snapshot/format/schema.ts';
import { servedSetKey } from '../snapshot/format/served-set-key.ts';
import { versionPartsOf } from './documents/counted-version.ts';
import {
  type ClusterObjects,
  excludeGroupVersions,
  sharedGroupVersions,
} from './documents/shared-objects.ts';
import {
  type LastKnownServer,
  lastKnown,
  type ServerDescription,
  type SuccessfulReading,
} from './documents/sync-server.ts';
import { isUnverified, type ReaderRecord } from './reading/reader-record.ts';
import { versionChanges } from './version-changes.ts';

/**
 * The part of a server's record that goes into a snapshot. A server without a reading is treated as one that could not
 * be read.
 */
export interface RecordedServer extends Partial<Pick<ReaderRecord, 'state' | 'reading' | 'start'>> {
  readonly server: ServerDescription;
}

export interface SnapshotInput {
  readonly servers: readonly RecordedServer[];
  readonly clusterObjects: ClusterObjects;
  /** Group versions that are, or once were, those of custom resources or extension APIs. Default: those of now. */
  readonly everShared?: ReadonlySet<string> | undefined;
  readonly storageVersions?: ReadonlyMap<string, ServedSet['storageVersions']> | undefined;
  readonly advertised?: ReadonlyMap<string, AdvertisedAddress> | undefined;
  /**
   * Digests of the servers' schemas, by server ID (`SchemaReader`). `undefined`: there is nothing to compare, and no set
   * has them.
   */
  readonly schemas?: ReadonlyMap<string, NonNullable<ServedSet['schemas']>> | undefined;
  readonly previous?: Snapshot | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** The same moment by the clock of the records. Default 0. */
  readonly monotonic?: number | undefined;
  /** Milliseconds by which the clock of `now` was set ahead since `previous` was made. Default 0. */
  readonly set?: number | undefined;
  readonly cluster?: string | undefined;
}

export interface SnapshotOutput {
  /** `undefined` if no server is known: no snapshot is better than an empty one. */
  readonly snapshot: Snapshot | undefined;
  /** False if the cluster serves the same as before; `snapshot` is then the previous one. */
  readonly changed: boolean;
  /** True if what was read makes no valid snapshot: `snapshot` is the previous one, and says nothing of now. */
  readonly isInvalid?: boolean;
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
  const { previous, clusterObjects, now, monotonic = 0, set = 0 } = input;
  const warnings: string[] = [...clusterObjects.warnings];
  const apiServices = clusterObjects.apiServices ?? previous?.apiServices ?? [];
  const customResourceGroups = clusterObjects.customResourceGroups ?? previous?.customResourceGroups ?? [];
  const shared = sharedGroupVersions(apiServices, customResourceGroups);

  const contents: ContentOfServer[] = [];
  for (const record of input.servers) {
    const everShared = input.everShared ?? shared;
    const content = await serverContent(record, { ...input, everShared }, (text) => warnings.push(text));
    if (content !== undefined) contents.push({ record, content });
  }
  const isRead = input.servers.some(({ reading }) => reading?.ok === true);
  // While nobody is read, nothing ends by itself: the snapshot would be as young as one that was read.
  const at = isRead ? monotonic : Number.NEGATIVE_INFINITY;
  const { servers, servedSets } = await snapshotServers(contents, { ...input, monotonic: at }, shared);
  if (servers.length === 0) return { snapshot: undefined, changed: false, warnings };

  const starts = new Map(input.servers.flatMap(({ server, start }) => (start ? [[server.id, start]] : [])));
  const moment = { now, monotonic, set, isRead, isWhole: contents.length === input.servers.length };
  const changes = versionChanges(previous, servers, moment, starts);
  const candidate: Snapshot = {
    apiVersion: snapshotApiVersion,
    kind: snapshotKind,
    metadata: {
      generation: nextGeneration(previous?.metadata.generation, now),
      createdAt: new Date(now).toISOString(),
      ...(input.cluster === undefined ? {} : { cluster: input.cluster }),
      ...(changes.length === 0 ? {} : { versionChanges: changes }),
      source: sourceOf(contents),
    },
    servers: servers.sort((one, other) => (one.id < other.id ? -1 : 1)),
    servedSets,
    apiServices,
    customResourceGroups,
  };
  if (previous !== undefined && isSameContent(previous, candidate)) {
    return { snapshot: previous, changed: false, warnings };
  }
  return { snapshot: candidate, changed: true, warnings };
}

interface ContentOfServer {
  readonly record: RecordedServer;
  readonly content: ServerContent;
}

/** The servers, and the sets that they share. */
async function snapshotServers(
  contents: readonly ContentOfServer[],
  input: SnapshotInput,
  shared: ReadonlySet<string>,
): Promise<Pick<Snapshot, 'servedSets'> & { readonly servers: SnapshotServer[] }> {
  const refine = refineBy(shared);
  const servers: SnapshotServer[] = [];
  // Sets of the previous one stand first, so that the others are sent as their difference from these.
  const sets = new Map(Object.entries(input.previous?.servedSets ?? {}));
  const used = new Set<string>();
  for (const { record, content } of contents) {
    const { id } = record.server;
    const { key, set } = await refine(content);
    if (!sets.has(key)) sets.set(key, set);
    used.add(key);
    const server = snapshotServer(record.server, input.advertised?.get(id), content, key);
    servers.push(isUnverified(record, input.monotonic ?? 0) ? { ...server, unread: true } : server);
  }
  return { servers, servedSets: Object.fromEntries([...sets].filter(([key]) => used.has(key))) };
}

function sourceOf(contents: readonly ContentOfServer[]): Snapshot['metadata']['source'] {
  const sources = new Set(contents.flatMap(({ content }) => content.sources));
  return sources.size === 2 ? 'both' : ([...sources][0] ?? 'discovery');
}

/**
 * The generation of the next snapshot: one more than that of the previous one. Without a previous one (first start, or
 * state lost, or one from a clock that was far ahead) it is the time in seconds since the epoch. Snapshots change less than once a second on average, so that is
 * more than any generation that an earlier run or another sync job has reached from such a start. Where clocks were wrong,
 * the router says which one it holds (`Publication`).
 *
 * @param now milliseconds since the epoch
 */
export function nextGeneration(previous: number | undefined, now: number): number {
  return previous === undefined || isGenerationAhead(previous, now)
    ? Math.max(1, Math.floor(now / 1000))
    : previous + 1;
}

function snapshotServer(
  { id, address, url, addressSource, serverName, hostname }: ServerDescription,
  advertised: AdvertisedAddress | undefined,
  { parts: { version, emulates, featureGates, apis }, stale, departedAt }: ServerContent,
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
    ...(emulates === undefined ? {} : { emulates }),
    ...(featureGates === undefined ? {} : { featureGates }),
    ...(apis === undefined ? {} : { apis }),
    ...(hostname === undefined ? {} : { hostname }),
    serves,
    ...(stale ? { stale: true } : {}),
    ...(departedAt === undefined ? {} : { departedAt: new Date(departedAt).toISOString() }),
  };
}

interface Refined {
  readonly from: readonly unknown[];
  readonly key: string;
  readonly set: ServedSet;
}

const refinedBefore = new WeakMap<ServedSet, Refined>();

/** @returns makes the set that is kept, with its key; a server that says what it said before costs nothing */
function refineBy(shared: ReadonlySet<string>) {
  const rules = [...shared].join(' ');
  return async ({ set: given, openapiV3, schemas }: ServerContent): Promise<Refined> => {
    const from = [rules, openapiV3, schemas];
    const before = refinedBefore.get(given);
    if (before !== undefined && isSameJson(before.from, from)) return before;
    const { openapiV3: _openapiV3, schemas: _schemas, ...rest } = given;
    const whole: ServedSet = {
      ...rest,
      ...(openapiV3 && { openapiV3 }),
      ...(schemas && { schemas }),
    };
    const set = await excludeGroupVersions(whole, shared);
    const checked = await checkServedSet(set);
    // One that no router would take is told of when the snapshot is checked.
    const { key, set: kept } = checked.ok ? checked : { key: await servedSetKey(set), set };
    const refined = { from, key, set: kept };
    refinedBefore.set(given, refined);
    return refined;
  };
}

interface ServerContent {
  readonly set: ServedSet;
  /** These stand in place of those of the set. */
  readonly openapiV3: ServedSet['openapiV3'];
  readonly schemas: ServedSet['schemas'];
  readonly parts: VersionParts;
  readonly stale: boolean;
  readonly departedAt?: number | undefined;
  readonly sources: readonly ('discovery' | 'storageversions')[];
}

/**
 * Chooses the best source for a server: its discovery, else its last known resources, else its StorageVersions.
 *
 * @returns `undefined` if nothing is known of the server
 */
async function serverContent(
  { server: { id, departedAt }, reading }: RecordedServer,
  input: SnapshotInput & { readonly everShared: ReadonlySet<string> },
  warn: (warning: string) => void,
): Promise<ServerContent | undefined> {
  const known = lastKnown(input.previous, id);
  const storageVersions = input.storageVersions?.get(id);
  const schemas = input.schemas?.get(id);
  // A departed server that can be read is back.
  if (reading?.ok === true) {
    return {
      ...(await readContent(id, known, reading, input.everShared, warn)),
      schemas,
      stale: false,
      sources: storageVersions === undefined ? ['discovery'] : ['discovery', 'storageversions'],
    };
  }
  const reason = reading === undefined ? 'not read yet' : reading.reason;
  // An earlier reading is the better source: it has subresources, and resources that are not stored.
  if (departedAt === undefined && storageVersions !== undefined && known?.set.discovery === undefined) {
    warn(`server ${id} is known only by its StorageVersions: ${reason}`);
    return {
      set: { storageVersions },
      openapiV3: undefined,
      schemas: undefined,
      parts: known?.server ?? {},
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
  const { server, set } = known;
  const { openapiV3 } = set;
  return {
    set,
    openapiV3,
    schemas,
    parts: server,
    stale: true,
    departedAt,
    sources: ['discovery'],
  };
}

async function readContent(
  id: string,
  known: LastKnownServer | undefined,
  reading: SuccessfulReading,
  everShared: ReadonlySet<string>,
  warn: (warning: string) => void,
): Promise<Pick<ServerContent, 'set' | 'openapiV3' | 'parts'>> {
  if (reading.openApi.kind === 'failed') {
    warn(`the OpenAPI v3 index of server ${id} is unknown: ${reading.openApi.reason}`);
  }
  const { versionIssue } = reading;
  if (versionIssue !== undefined) warn(`the version of server ${id} is unknown: ${versionIssue}`);
  const { set, openApi } = reading;
  return {
    set,
    openapiV3:
      openApi.kind === 'failed' ? known?.set.openapiV3 : openApi.kind === 'read' ? openApi.paths : undefined,
    parts: await partsOf(known, reading, everShared),
  };
}

async function partsOf(
  known: LastKnownServer | undefined,
  reading: SuccessfulReading,
  everShared: ReadonlySet<string>,
): Promise<VersionParts> {
  // A server that reports another version now is no longer of the known one.
  if (reading.versionIssue !== undefined) return {};
  if (reading.version === undefined && known?.server.version !== undefined) return known.server;
  const parts = await versionPartsOf(reading, everShared);
  const before = known?.server;
  if (before?.version !== parts.version || before?.emulates !== parts.emulates) return parts;
  // A part that the server does not say for a moment makes no other version of it: a server that ends refuses its index first.
  const { featureGates = before?.featureGates, apis = before?.apis } = parts;
  return { ...parts, featureGates, apis };
}
