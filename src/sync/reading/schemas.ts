import { groupVersionString, storageVersionName } from '../../apimachinery/group-version.ts';
import { areSeveralVersions, countedVersionOf } from '../../apimachinery/server-version.ts';
import { type Clock, createTimeSlice, type TimeSlice } from '../../runtime/time.ts';
import type { ServedSet, Snapshot } from '../../snapshot/format/schema.ts';
import { versionPartsOf } from '../documents/counted-version.ts';
import { DocumentCache, type DocumentState } from '../documents/document-cache.ts';
import { schemaDigests } from '../documents/schema-digests.ts';
import {
  jsonType,
  parseJson,
  ReadError,
  type ServerDocuments,
  withoutQuery,
} from '../documents/server-documents.ts';
import {
  documentsIn,
  groupVersionsIn,
  type LastKnownServer,
  lastKnown,
  openApiTypes,
  type ServerReading,
  type SuccessfulReading,
} from '../documents/sync-server.ts';
import type { ReadableServer, ReaderRecord } from './reader-record.ts';

/** `<group>.<resource>` to version to digest, as in `ServedSet.schemas`. */
type ServerSchemas = NonNullable<ServedSet['schemas']>;

interface SchemaReaderOptions {
  readonly clock: Pick<Clock, 'monotonic' | 'random'>;
  /** Compare also while all servers are of one version. Default false. */
  readonly always?: boolean | undefined;
  /** The snapshot of an earlier run: what it has of documents is not read again. */
  readonly previous?: Snapshot | undefined;
}

export interface SchemasRequest {
  /** Records of the servers. Schemas that unready ones say they will serve are read now, and compared once they are. */
  readonly records: readonly ReaderRecord[];
  readonly previous: Snapshot | undefined;
  /** Group versions that belong to no single server (`sharedGroupVersions`). */
  readonly shared: ReadonlySet<string>;
  /** Group versions that belong to no single server, or once did not. Default: `shared`. */
  readonly everShared?: ReadonlySet<string> | undefined;
  readonly waits: boolean;
  readonly signal: AbortSignal;
}

export interface ComparedSchemas {
  /**
   * By server ID, without servers whose schemas are not known (yet). `undefined` if there is nothing to compare: all
   * servers are of one version.
   */
  readonly byServer: ReadonlyMap<string, ServerSchemas> | undefined;
  /** Resolves when more is known; `undefined` while no document is being read for the first time. */
  readonly more?: Promise<unknown> | undefined;
  readonly warnings: readonly string[];
}

/** By kind. */
type Digests = ReadonlyMap<string, string>;

interface SchemaDocument {
  readonly group: string;
  readonly version: string;
  /** The `serverRelativeURL` of the server's own index, with the hash of its content. */
  readonly url: string;
  /** `undefined`: it cannot be read. */
  readonly server: ServerDocuments | undefined;
}

/** Reads the schemas of what servers serve, while they are of several versions. */
export class SchemaReader {
  readonly #always: boolean;
  readonly #documents: DocumentCache<Digests>;
  /** Digests by what they are of: documents share most of their definitions. */
  #digested = new Map<string, string>();

  constructor({ clock, always = false, previous }: SchemaReaderOptions) {
    this.#always = always;
    this.#documents = new DocumentCache({ clock, timeout, concurrentDocuments });
    for (const [url, digests] of previous === undefined ? [] : digestsOf(previous)) {
      this.#documents.remember(url, digests);
    }
  }

  async read(request: SchemasRequest): Promise<ComparedSchemas> {
    const { records, previous, shared, everShared = shared, waits, signal } = request;
    const early = records.flatMap(({ server, early }) =>
      early?.reading === undefined ? [] : [{ server, reading: early.reading }],
    );
    const versions = await Promise.all(
      records.map(({ server: { id }, reading }) => versionOf(reading, lastKnown(previous, id), everShared)),
    );
    const coming = await Promise.all(early.map(({ reading }) => versionOf(reading, undefined, everShared)));
    const areSeveral = (all: readonly (string | undefined)[]) => this.#always || areSeveralVersions(all);
    if (!areSeveral([...versions, ...coming])) {
      this.#documents.clear();
      this.#digested = new Map();
      return { byServer: undefined, warnings: [] };
    }
    const wanted = records.flatMap(({ server, reading }) => {
      const known = lastKnown(previous, server.id);
      const read = reading?.ok === true ? reading : undefined;
      return read !== undefined || known !== undefined ? [wantedOf(server, read, known, shared)] : [];
    });
    const soonWanted = early.map(({ server, reading }) => wantedOf(server, reading, undefined, shared));
    // Schemas that are not compared yet count as different.
    const read = this.#readDocuments([...wanted, ...soonWanted], waits, signal);
    if (waits) await read;
    if (!areSeveral(versions)) return { byServer: undefined, warnings: [] };
    const compared = outcome(wanted, previous, (key) => this.#documents.state(key));
    return compared.isPending ? { ...compared, more: this.#documents.settled() } : compared;
  }

  #readDocuments(wanted: readonly WantedDocuments[], waits: boolean, signal: AbortSignal): Promise<void> {
    const slice = createTimeSlice(waits ? 'now' : 'in seconds');
    const byUrl = Map.groupBy(
      wanted.flatMap((each) => each.documents),
      ({ url }) => url,
    );
    const readable = [...byUrl].flatMap(([key, alike]) => {
      const from = alike.filter(({ server }) => server !== undefined);
      // After a failure, the next server is asked.
      const read = (deadline: AbortSignal, failures: number) =>
        readDigests(from[failures % from.length], this.#digested, slice, deadline);
      return from.length === 0 ? [] : [{ key, read }];
    });
    return this.#documents.read(readable, signal);
  }
}

interface WantedDocuments {
  readonly id: string;
  readonly version: string | undefined;
  readonly set: ServedSet;
  readonly documents: readonly SchemaDocument[];
  /** The server is as it was, or cannot be read: what was known of its schemas then. */
  readonly before: ServerSchemas | undefined;
  readonly canBeRead: boolean;
}

/** @param reading `undefined`: it cannot be read, and its documents are those of `known`, which other servers may have, too */
function wantedOf(
  server: ReadableServer,
  reading: SuccessfulReading | undefined,
  known: LastKnownServer | undefined,
  shared: ReadonlySet<string>,
): WantedDocuments {
  const { id } = server;
  const version = reading?.version ?? known?.server.version;
  const set = reading?.set ?? known?.set ?? { storageVersions: {} };
  const indexed = hashedDocumentsIn(
    reading?.openApi.kind === 'read' ? reading.openApi.paths : known?.set.openapiV3,
  );
  const documents: SchemaDocument[] = [];
  for (const { group, version: name, groupVersion, resources } of groupVersionsIn(set.discovery)) {
    if (resources.length === 0 || shared.has(groupVersion)) continue;
    const url = indexed.get(groupVersion);
    if (url !== undefined) documents.push({ group, version: name, url, server: reading && server.documents });
  }
  const canBeRead = reading !== undefined;
  // The schemas of another version do not count.
  const before = known?.server.version === version ? known?.set.schemas : undefined;
  return { id, version, set, documents, before, canBeRead };
}

function outcome(
  wanted: readonly WantedDocuments[],
  previous: Snapshot | undefined,
  stateOf: (key: string) => DocumentState<Digests>,
): ComparedSchemas & { readonly isPending: boolean } {
  const byServer = new Map<string, ServerSchemas>();
  const warnings: string[] = [];
  let isPending = false;
  let isComplete = true;
  for (const server of wanted) {
    const states = new Map(
      server.documents.map(({ group, version, url }) => [groupVersionString(group, version), stateOf(url)]),
    );
    const isBeingRead = [...states.values()].some(({ kind }) => kind === 'pending');
    isPending ||= isBeingRead;
    if (isBeingRead || !server.canBeRead) {
      const isKnown = [...states.values()].every(({ kind }) => kind === 'known');
      const schemas = server.before ?? (isKnown && states.size > 0 ? schemasOf(server, states) : undefined);
      if (schemas !== undefined) byServer.set(server.id, schemas);
      else if (isBeingRead) isComplete = false;
      continue;
    }
    byServer.set(server.id, schemasOf(server, states));
    const warning = warningOf(server, states);
    if (warning !== undefined) warnings.push(warning);
  }
  // Routers begin to compare when the schemas of every server are known, not of some.
  const compared = Object.values(previous?.servedSets ?? {}).some(({ schemas }) => schemas !== undefined);
  return { byServer: isComplete || compared ? byServer : new Map(), isPending, warnings };
}

/** Schemas last made of a set, and of which digests: servers of one version have the same set and documents. */
const madeBefore = new WeakMap<
  ServedSet,
  { readonly of: readonly unknown[]; readonly schemas: ServerSchemas }
>();

function schemasOf(
  { set }: WantedDocuments,
  states: ReadonlyMap<string, DocumentState<Digests>>,
): ServerSchemas {
  const of = [...states].flatMap(([name, state]) => (state.kind === 'known' ? [name, state.value] : []));
  const before = madeBefore.get(set);
  const isSame = before?.of.length === of.length && of.every((each, index) => each === before.of[index]);
  if (before !== undefined && isSame) return before.schemas;
  const schemas: Record<string, Record<string, string>> = {};
  for (const { group, version, name, kind } of kindsOf(set)) {
    const state = states.get(groupVersionString(group, version));
    const digest = state?.kind === 'known' ? state.value.get(kind) : undefined;
    if (digest === undefined || set.storageVersions[name] === undefined) continue;
    schemas[name] = { ...schemas[name], [version]: digest };
  }
  madeBefore.set(set, { of, schemas });
  return schemas;
}

function warningOf(
  { id, documents }: WantedDocuments,
  states: ReadonlyMap<string, DocumentState<Digests>>,
): string | undefined {
  const reasons = [...states.values()].flatMap((state) => (state.kind === 'failed' ? [state.reason] : []));
  if (reasons.length === 0) return undefined;
  const share = `${reasons.length} of ${documents.length}`;
  return `${share} OpenAPI v3 documents of server ${id} cannot be read, so their resources count as different from those of other versions: ${reasons[0]}`;
}

/** The documents of a snapshot, without those that it has only in part. */
function digestsOf({ servers, servedSets }: Snapshot): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const documents = new Map<string, ReadonlyMap<string, string>>();
  for (const set of new Set(servers.map(({ serves }) => servedSets[serves]))) {
    if (set?.schemas === undefined) continue;
    const indexed = hashedDocumentsIn(set.openapiV3);
    const schemas = new Map(Object.entries(set.schemas));
    const digests = new Map<string, Map<string, string>>();
    const unknown = new Set<string>();
    for (const { group, version, name, kind } of kindsOf(set)) {
      const url = indexed.get(groupVersionString(group, version));
      if (url === undefined) continue;
      const digest = schemas.get(name)?.[version];
      if (digest === undefined) unknown.add(url);
      else digests.set(url, (digests.get(url) ?? new Map<string, string>()).set(kind, digest));
    }
    for (const [url, kinds] of digests) if (!unknown.has(url)) documents.set(url, kinds);
  }
  return documents;
}

/** The kinds of a set's resources, without kinds of another group version than the resource's. */
function* kindsOf({
  discovery,
}: ServedSet): Generator<{ group: string; version: string; name: string; kind: string }> {
  for (const { group, version, resources } of groupVersionsIn(discovery)) {
    for (const { resource, responseKind = {} } of resources) {
      const { group: ofGroup = '', version: ofVersion = '', kind } = responseKind;
      if (kind === undefined || resource.includes('.')) continue;
      // If the kind's group and version are left out, they are those of the resource.
      const isOwn = ofVersion === '' || (ofGroup === group && ofVersion === version);
      if (isOwn) yield { group, version, name: storageVersionName(group, resource), kind };
    }
  }
}

/**
 * Every kube-apiserver with such an index writes hashes (k8s.io/kube-openapi pkg/handler3): what is behind another URL may
 * change at any time.
 */
function hashedDocumentsIn(paths: ServedSet['openapiV3']): ReadonlyMap<string, string> {
  return new Map([...documentsIn(paths)].filter(([, url]) => /[?&]hash=\w/.test(url)));
}

async function versionOf(
  reading: ServerReading | undefined,
  known: LastKnownServer | undefined,
  everShared: ReadonlySet<string>,
): Promise<string | undefined> {
  const parts = reading?.ok === true ? await versionPartsOf(reading, everShared) : known?.server;
  return parts && countedVersionOf(parts.version === undefined ? (known?.server ?? {}) : parts);
}

/** For all documents of one round together, milliseconds: nothing waits for them but a single round. */
const timeout = 30_000;
/**
 * Documents in memory and digested at once: the largest of Kubernetes 1.36 has 1.6 MB, and takes 15 MB parsed. While one is
 * digested the next arrives; more would only share the processor, with the snapshot that is made meanwhile as well.
 */
const concurrentDocuments = 2;
/** Longest document that is parsed, in characters: ten times the largest of Kubernetes 1.36. */
const maximumLength = 16 * 1024 * 1024;

async function readDigests(
  document: SchemaDocument | undefined,
  digested: Map<string, string>,
  slice: TimeSlice,
  signal: AbortSignal,
): Promise<Digests> {
  if (document?.server === undefined) throw new TypeError('no server has it');
  const { server, group, version, url } = document;
  const response = await server.get(url, jsonType, signal);
  if (response.body.length > maximumLength) {
    throw new ReadError('InvalidDocument', `${withoutQuery(url)} has more than ${maximumLength} characters`);
  }
  const untilDeadline: TimeSlice = {
    rest: () => {
      signal.throwIfAborted();
      return slice.rest();
    },
  };
  const parsed = await parseJson(url, response, openApiTypes, untilDeadline);
  return schemaDigests(parsed, group, version, digested, untilDeadline);
}
