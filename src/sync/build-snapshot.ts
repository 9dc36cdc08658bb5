import { canonicalJson } from '../snapshot/canonical-json.ts';
import {
  type ServedSet,
  type Snapshot,
  type SnapshotServer,
  snapshotApiVersion,
  snapshotKind,
} from '../snapshot/types.ts';
import { acceptableSet } from './acceptable-set.ts';
import type { ClusterObjects } from './cluster-objects.ts';
import { excludeGroupVersions, sharedGroupVersions } from './exclude-group-versions.ts';
import { nextGeneration } from './generation.ts';
import type { ServerReading } from './server-reading.ts';
import { createSetCollection } from './set-collection.ts';
import { contradiction } from './storage-versions.ts';

/** An API server as the sync job knows it before reading it. */
export interface ServerDescription {
  readonly id: string;
  /** `host:port`, for routers. At most one of `address` and `url`. */
  readonly address?: string | undefined;
  readonly url?: string | undefined;
  /** TLS name; default `kubernetes.default.svc`. */
  readonly serverName?: string | undefined;
  readonly hostname?: string | undefined;
}

export interface SnapshotOptions {
  readonly cluster?: string | undefined;
  /** How long routers may go by the snapshot without hearing from the sync job. Default 300. */
  readonly lifetimeSeconds?: number | undefined;
}

export interface SnapshotInput {
  readonly servers: readonly ServerDescription[];
  /** By server ID. A server without a reading is treated as one that could not be read. */
  readonly readings: ReadonlyMap<string, ServerReading>;
  readonly clusterObjects: ClusterObjects;
  /** What StorageVersions say that servers serve, by server ID. */
  readonly storageVersions?: ReadonlyMap<string, ServedSet['storageVersions']> | undefined;
  readonly previous?: Snapshot | undefined;
  /** The highest generation that a router is known to hold. */
  readonly heldGeneration?: number | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly options?: SnapshotOptions;
}

export interface SnapshotOutput {
  /** `undefined` when nothing is known of any server: no snapshot is better than an empty one. */
  readonly snapshot: Snapshot | undefined;
  /** False when what the cluster serves is the same as before; `snapshot` then is the previous one. */
  readonly changed: boolean;
  readonly warnings: readonly string[];
}

export const defaultLifetimeSeconds = 300;

/**
 * Makes a snapshot of what was read, without effects. A server that could not be read keeps what it was last
 * known to serve, marked stale; one that was never read serves what its StorageVersions say, or is left out with
 * a warning. Whatever else could not be read (APIServices, CustomResourceDefinitions, OpenAPI indexes, versions)
 * stays as it was.
 */
export async function buildSnapshot(input: SnapshotInput): Promise<SnapshotOutput> {
  const { previous, clusterObjects, now } = input;
  const warnings: string[] = [...clusterObjects.warnings];
  const apiServices = clusterObjects.apiServices ?? previous?.apiServices ?? [];
  const customResourceGroups = clusterObjects.customResourceGroups ?? previous?.customResourceGroups ?? [];
  const shared = sharedGroupVersions(apiServices, customResourceGroups);

  const servers: SnapshotServer[] = [];
  const sets = createSetCollection((given) => acceptableSet(excludeGroupVersions(given, shared)));
  const sources = new Set<'discovery' | 'storageversions'>();
  for (const description of input.servers) {
    const reading = input.readings.get(description.id);
    const known = lastKnown(previous, description.id);
    const told = input.storageVersions?.get(description.id);
    if (reading?.ok !== true) {
      const reason = reading === undefined ? 'not read yet' : reading.reason;
      // What was read once is the better source: it knows of subresources, and of what is not stored.
      if (told !== undefined && known?.set.discovery === undefined) {
        const serves = await sets.add({ storageVersions: told });
        servers.push(snapshotServer(description, known?.server.version, serves, false));
        sources.add('storageversions');
        warnings.push(`server ${description.id} is known by its StorageVersions alone: ${reason}`);
        continue;
      }
      sources.add('discovery');
      if (known === undefined) {
        warnings.push(`server ${description.id} is left out, nothing is known of it: ${reason}`);
        continue;
      }
      warnings.push(`server ${description.id} keeps what it was last known to serve: ${reason}`);
      sets.keep(known.server.serves, known.set);
      const { version, serves } = known.server;
      servers.push(snapshotServer(description, version, serves, true));
      continue;
    }
    sources.add('discovery');
    if (told !== undefined) {
      sources.add('storageversions');
      const difference = contradiction(told, reading.set.storageVersions);
      if (difference !== undefined) {
        warnings.push(
          `StorageVersions of server ${description.id} contradict its discovery, which counts: ${difference}`,
        );
      }
    }
    if (reading.openApi.kind === 'failed') {
      warnings.push(`the OpenAPI v3 index of server ${description.id} is unknown: ${reading.openApi.reason}`);
    }
    const serves = await sets.add(withOpenApi(reading.set, reading.openApi, known?.set));
    servers.push(snapshotServer(description, reading.version ?? known?.server.version, serves, false));
  }
  if (servers.length === 0) return { snapshot: undefined, changed: false, warnings };

  const candidate: Snapshot = {
    apiVersion: snapshotApiVersion,
    kind: snapshotKind,
    metadata: {
      generation: nextGeneration(previous?.metadata.generation, input.heldGeneration, now),
      createdAt: new Date(now).toISOString(),
      lifetimeSeconds: input.options?.lifetimeSeconds ?? defaultLifetimeSeconds,
      ...(input.options?.cluster === undefined ? {} : { cluster: input.options.cluster }),
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

/** What the previous snapshot says of a server. */
function lastKnown(
  previous: Snapshot | undefined,
  id: string,
): { readonly server: SnapshotServer; readonly set: ServedSet } | undefined {
  const server = previous?.servers.find((candidate) => candidate.id === id);
  const set = server === undefined ? undefined : previous?.servedSets[server.serves];
  return server === undefined || set === undefined ? undefined : { server, set };
}

function withOpenApi(
  set: ServedSet,
  reading: Extract<ServerReading, { ok: true }>['openApi'],
  known: ServedSet | undefined,
): ServedSet {
  const paths = reading.kind === 'read' ? reading.paths : undefined;
  const openapiV3 = reading.kind === 'failed' ? known?.openapiV3 : paths;
  return openapiV3 === undefined ? set : { ...set, openapiV3 };
}

function snapshotServer(
  { id, address, url, serverName, hostname }: ServerDescription,
  version: string | undefined,
  serves: string,
  stale: boolean,
): SnapshotServer {
  return {
    id,
    ...(address === undefined ? {} : { address }),
    ...(url === undefined ? {} : { url }),
    ...(serverName === undefined ? {} : { serverName }),
    ...(version === undefined ? {} : { version }),
    ...(hostname === undefined ? {} : { hostname }),
    serves,
    ...(stale ? { stale: true } : {}),
  };
}

/** Everything but number and time, as text to compare. Of the sets their keys, which are their content. */
function content(snapshot: Snapshot): string {
  const { generation: _generation, createdAt: _createdAt, ...metadata } = snapshot.metadata;
  return canonicalJson({ ...snapshot, metadata, servedSets: Object.keys(snapshot.servedSets).sort() });
}
