import type { ServedSet } from '../../snapshot/format/schema.ts';
import { contradiction } from '../cluster/storage-versions.ts';
import type { LastKnownServer, ServerReading, SuccessfulReading } from '../servers/server-reading.ts';

/** What is known of one server. */
interface ServerKnowledge {
  readonly id: string;
  /** As in `ServerDescription`. */
  readonly departedAt?: number | undefined;
  readonly reading: ServerReading | undefined;
  readonly known: LastKnownServer | undefined;
  /** What it serves by its StorageVersions. */
  readonly storageVersions: ServedSet['storageVersions'] | undefined;
  /** Digests of its schemas, if they are known and there is something to compare. */
  readonly schemas: ServedSet['schemas'];
}

/** The content of a snapshot for one server. */
export interface ServerContent {
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
export function serverContent(
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

/** The last known resources. */
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
  const difference = storageVersions && contradiction(storageVersions, reading.set.storageVersions);
  if (difference !== undefined) {
    warn(`StorageVersions of server ${id} contradict its discovery, which counts: ${difference}`);
  }
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
