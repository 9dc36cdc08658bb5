import type { ServedSet, SnapshotServer } from '../../snapshot/format/types.ts';
import { contradiction } from '../cluster/storage-versions.ts';
import type { ServerReading } from '../servers/server-reading.ts';

/** What is known of one server. */
export interface ServerKnowledge {
  readonly id: string;
  /** As in `ServerDescription`. */
  readonly departedAt?: number | undefined;
  readonly reading: ServerReading | undefined;
  /** What the previous snapshot says of it. */
  readonly known: { readonly server: SnapshotServer; readonly set: ServedSet } | undefined;
  /** What its StorageVersions say. */
  readonly told: ServedSet['storageVersions'] | undefined;
  /** How it understands what it serves, as far as it was read. `not-compared`: nobody is to be told of any server. */
  readonly schemas: ServedSet['schemas'] | 'not-compared';
}

/** What a snapshot is to say of one server. */
export interface ServerContent {
  readonly set: ServedSet;
  /** The set is that of the previous snapshot, under its key there. */
  readonly keptAs?: string;
  readonly version: string | undefined;
  readonly stale: boolean;
  /** It is not there now. */
  readonly departedAt?: number | undefined;
  readonly sources: readonly ('discovery' | 'storageversions')[];
}

/**
 * Weighs what is known of a server: its discovery, else what it was last known to serve, else its StorageVersions.
 *
 * @param warn told of what was done without, and of contradictions
 * @returns `undefined` when nothing is known of it
 */
export function serverContent(
  knowledge: ServerKnowledge,
  warn: (warning: string) => void,
): ServerContent | undefined {
  const { id, departedAt, reading, known, told } = knowledge;
  // One that is thought to have left, and answers, is back.
  if (reading?.ok === true) return readContent(knowledge, reading, warn);
  if (departedAt !== undefined) {
    if (known === undefined) return undefined;
    warn(
      `server ${id} has left: what it served stays known, as that of nobody, until it is back or the grace is over`,
    );
    const { version } = known.server;
    return { ...kept(knowledge, known), version, stale: true, departedAt, sources: ['discovery'] };
  }
  const reason = reading === undefined ? 'not read yet' : reading.reason;
  // What was read once is the better source: it knows of subresources, and of what is not stored.
  if (told !== undefined && known?.set.discovery === undefined) {
    warn(`server ${id} is known by its StorageVersions alone: ${reason}`);
    const set = { storageVersions: told };
    return { set, version: known?.server.version, stale: false, sources: ['storageversions'] };
  }
  if (known === undefined) {
    warn(`server ${id} is left out, nothing is known of it: ${reason}`);
    return undefined;
  }
  warn(`server ${id} keeps what it was last known to serve: ${reason}`);
  const { version } = known.server;
  return { ...kept(knowledge, known), version, stale: true, sources: ['discovery'] };
}

/** What it was last known to serve, without its schemas where there is nothing to compare them with. */
function kept(
  { schemas }: ServerKnowledge,
  { server, set }: NonNullable<ServerKnowledge['known']>,
): Pick<ServerContent, 'set' | 'keptAs'> {
  if (schemas !== 'not-compared' || set.schemas === undefined) return { set, keptAs: server.serves };
  const { schemas: _schemas, ...rest } = set;
  return { set: rest };
}

function readContent(
  { id, known, told, schemas }: ServerKnowledge,
  reading: Extract<ServerReading, { ok: true }>,
  warn: (warning: string) => void,
): ServerContent {
  const difference = told === undefined ? undefined : contradiction(told, reading.set.storageVersions);
  if (difference !== undefined) {
    warn(`StorageVersions of server ${id} contradict its discovery, which counts: ${difference}`);
  }
  if (reading.openApi.kind === 'failed') {
    warn(`the OpenAPI v3 index of server ${id} is unknown: ${reading.openApi.reason}`);
  }
  const set = withOpenApi(reading, known?.set);
  return {
    set: schemas === undefined || schemas === 'not-compared' ? set : { ...set, schemas },
    version: reading.version ?? known?.server.version,
    stale: false,
    sources: told === undefined ? ['discovery'] : ['discovery', 'storageversions'],
  };
}

function withOpenApi(
  { set, openApi }: Extract<ServerReading, { ok: true }>,
  known: ServedSet | undefined,
): ServedSet {
  const paths = openApi.kind === 'read' ? openApi.paths : undefined;
  const openapiV3 = openApi.kind === 'failed' ? known?.openapiV3 : paths;
  return openapiV3 === undefined ? set : { ...set, openapiV3 };
}
