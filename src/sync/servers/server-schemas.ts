import { groupVersionString, storageVersionName } from '../../apimachinery/group-version.ts';
import { minorVersion } from '../../apimachinery/server-version.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { ServedSet, Snapshot } from '../../snapshot/format/types.ts';
import { documentsIn } from './read-openapi-index.ts';
import { createSchemaDocuments, type SchemaDocument, type SchemaDocumentState } from './schema-documents.ts';
import type { ReadableServer } from './server-readers.ts';
import { groupVersionsIn, lastKnown, type ServerReading } from './server-reading.ts';

/** `<group>.<resource>` to version to digest, as in `ServedSet.schemas`. */
type ServerSchemas = NonNullable<ServedSet['schemas']>;

interface SchemaReaderOptions {
  readonly clock: Pick<Clock, 'monotonic' | 'random' | 'sleep'>;
  /** Compare also while all servers have one minor version. Default false. */
  readonly always?: boolean | undefined;
  /** Documents read in one round, from all servers together. Default: no limit. */
  readonly maximumDocuments?: number | undefined;
  /**
   * The snapshot of an earlier run. With `maximumDocuments`, its documents are not read again, so that a sync job that
   * starts anew for each round reads all of them in the end. Their digests are those of the release that read them.
   */
  readonly previous?: Snapshot | undefined;
}

export interface SchemasRequest {
  /** All servers of the round. */
  readonly servers: readonly ReadableServer[];
  readonly readings: ReadonlyMap<string, ServerReading>;
  readonly previous: Snapshot | undefined;
  /** Group versions that belong to no single server (`sharedGroupVersions`). */
  readonly shared: ReadonlySet<string>;
  /** How long to wait for documents; `undefined`: until all have been read, or have failed. */
  readonly longestWait: number | undefined;
  readonly signal: AbortSignal;
}

export interface ComparedSchemas {
  /**
   * By server ID, without servers that have not been read and were not known before. `undefined` if there is nothing to
   * compare: all servers have one minor version.
   */
  readonly byServer: ReadonlyMap<string, ServerSchemas> | undefined;
  readonly warnings: readonly string[];
}

/** Reads the schemas of what servers serve, while they have several minor versions. */
export function createSchemaReader(options: SchemaReaderOptions) {
  const { clock, always = false, maximumDocuments = Number.POSITIVE_INFINITY } = options;
  const documents = createSchemaDocuments(clock);
  if (maximumDocuments < Number.POSITIVE_INFINITY && options.previous !== undefined) {
    for (const [url, digests] of digestsOf(options.previous)) documents.remember(url, digests);
  }
  return {
    /** Never rejects. */
    async read({
      servers,
      readings,
      previous,
      shared,
      longestWait,
      signal,
    }: SchemasRequest): Promise<ComparedSchemas> {
      const versions = servers.map(({ id }) => versionOf(readings.get(id), previous, id));
      const minors = new Set(versions.map(minorVersion).filter((minor) => minor !== undefined));
      if (minors.size < 2 && !always) {
        documents.clear();
        return { byServer: undefined, warnings: [] };
      }
      const wanted = servers.flatMap((server) => {
        const reading = readings.get(server.id);
        return reading?.ok === true ? [wantedOf(server, reading, previous, shared)] : [];
      });
      const all = mergedByKey(wanted.flatMap((each) => each.documents));
      await documents.read(all, maximumDocuments, longestWait, signal);
      return outcome(wanted, previous, (key) => documents.state(key));
    },
  };
}

interface WantedDocuments {
  readonly id: string;
  readonly version: string | undefined;
  readonly set: ServedSet;
  /** Of the group versions to compare. */
  readonly documents: readonly SchemaDocument[];
}

function wantedOf(
  server: ReadableServer,
  reading: Extract<ServerReading, { ok: true }>,
  previous: Snapshot | undefined,
  shared: ReadonlySet<string>,
): WantedDocuments {
  const { id, incarnation = '' } = server;
  const version = versionOf(reading, previous, id);
  const { set, openApi } = reading;
  const known = openApi.kind === 'failed' ? lastKnown(previous, id)?.set.openapiV3 : undefined;
  const indexed = documentsIn(openApi.kind === 'read' ? openApi.paths : known);
  const documents: SchemaDocument[] = [];
  for (const { group, version: name, groupVersion, resources } of groupVersionsIn(set.discovery)) {
    if (resources.length === 0 || shared.has(groupVersion)) continue;
    const url = indexed.get(groupVersion);
    if (url === undefined) continue;
    const isImmutable = hasHash(url);
    // Without a hash, the document may differ between servers, and after each restart.
    const key = isImmutable ? url : [url, id, version, incarnation].join(' ');
    documents.push({ group, version: name, url, key, isImmutable, from: [server.documents] });
  }
  return { id, version, set, documents };
}

/** One document per key, with all servers that have it. */
function mergedByKey(documents: readonly SchemaDocument[]): readonly SchemaDocument[] {
  const merged = new Map<string, SchemaDocument>();
  for (const document of documents) {
    const { from = [] } = merged.get(document.key) ?? {};
    merged.set(document.key, { ...document, from: [...from, ...document.from] });
  }
  return [...merged.values()];
}

function outcome(
  wanted: readonly WantedDocuments[],
  previous: Snapshot | undefined,
  stateOf: (key: string) => SchemaDocumentState,
): ComparedSchemas {
  const byServer = new Map<string, ServerSchemas>();
  const warnings: string[] = [];
  let isComplete = true;
  for (const server of wanted) {
    const states = new Map(
      server.documents.map(({ group, version, key }) => [groupVersionString(group, version), stateOf(key)]),
    );
    if ([...states.values()].some(({ kind }) => kind === 'pending')) {
      const known = lastKnown(previous, server.id);
      // The schemas of another version do not count.
      const schemas = known?.server.version === server.version ? known?.set.schemas : undefined;
      if (schemas === undefined) isComplete = false;
      else byServer.set(server.id, schemas);
      continue;
    }
    byServer.set(server.id, schemasOf(server, states));
    const warning = warningOf(server, states);
    if (warning !== undefined) warnings.push(warning);
  }
  // Routers begin to compare when the schemas of every server are known, not of some.
  const compared = Object.values(previous?.servedSets ?? {}).some(({ schemas }) => schemas !== undefined);
  return { byServer: isComplete || compared ? byServer : new Map(), warnings };
}

function schemasOf(
  { set }: WantedDocuments,
  states: ReadonlyMap<string, SchemaDocumentState>,
): ServerSchemas {
  const schemas: Record<string, Record<string, string>> = {};
  for (const { group, version, name, kind } of kindsOf(set)) {
    const state = states.get(groupVersionString(group, version));
    const digest = state?.kind === 'known' ? state.digests.get(kind) : undefined;
    if (digest === undefined) continue;
    schemas[name] = { ...schemas[name], [version]: digest };
  }
  return schemas;
}

function warningOf(
  { id, documents }: WantedDocuments,
  states: ReadonlyMap<string, SchemaDocumentState>,
): string | undefined {
  const reasons = [...states.values()].flatMap((state) => (state.kind === 'failed' ? [state.reason] : []));
  if (reasons.length === 0) return undefined;
  const share = `${reasons.length} of ${documents.length}`;
  return `${share} OpenAPI v3 documents of server ${id} cannot be read, so their resources count as different from those of other minor versions: ${reasons[0]}`;
}

/** The documents of a snapshot that have a hash in their URL, without those that it has only in part. */
function digestsOf({ servers, servedSets }: Snapshot): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const documents = new Map<string, ReadonlyMap<string, string>>();
  for (const set of new Set(servers.map(({ serves }) => servedSets[serves]))) {
    if (set?.schemas === undefined) continue;
    const indexed = documentsIn(set.openapiV3);
    const schemas = new Map(Object.entries(set.schemas));
    const digests = new Map<string, Map<string, string>>();
    const unknown = new Set<string>();
    for (const { group, version, name, kind } of kindsOf(set)) {
      const url = indexed.get(groupVersionString(group, version));
      if (url === undefined || !hasHash(url)) continue;
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

function hasHash(url: string): boolean {
  return /[?&]hash=\w/.test(url);
}

function versionOf(
  reading: ServerReading | undefined,
  previous: Snapshot | undefined,
  id: string,
): string | undefined {
  return (reading?.ok === true ? reading.version : undefined) ?? lastKnown(previous, id)?.server.version;
}
