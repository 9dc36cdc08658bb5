import type { Clock } from '../../runtime/clock.ts';
import { parseRfc3339 } from '../../runtime/rfc3339.ts';
import type { ServedSet, Snapshot } from '../../snapshot/format/types.ts';
import { ReadError, type ServerDocuments } from '../documents/server-documents.ts';
import type { WatchConnection } from '../documents/watch-connection.ts';
import { byGroupAndVersion } from './api-services.ts';
import type { FoundServer } from './cluster-input.ts';
import type { ClusterObjects } from './cluster-objects.ts';
import { initialClusterState, nextClusterState } from './cluster-state.ts';
import { type ClusterTiming, defaultClusterTiming } from './cluster-timing.ts';
import { groupVersionsOfCustomResources } from './custom-resource-groups.ts';
import { createEndpointIdentities } from './endpoint-identities.ts';
import type { IdentityLease } from './identity-lease.ts';
import {
  type DecodableVersions,
  decodableByStorageVersions,
  servedByStorageVersions,
} from './storage-versions.ts';
import type { SyncServer } from './sync-server.ts';
import { allLeases, watchCluster } from './watched-cluster.ts';

export interface ClusterSourceOptions {
  /** Where to list and watch. */
  readonly connection: WatchConnection;
  /** The DNS names in the serving certificate of who answers at `address`. Rejects when nobody does. */
  readonly servingNames: (address: string, signal: AbortSignal) => Promise<readonly string[]>;
  /** How a server is read by its own address: the same object for the same address. */
  readonly documentsOf: (server: FoundServer) => ServerDocuments;
  readonly listed: readonly SyncServer[];
  /** Servers of an earlier run: they stay until Leases and endpoints say otherwise. */
  readonly previous?: Snapshot | undefined;
  readonly clock: Clock;
  readonly timing?: Partial<ClusterTiming> | undefined;
}

/** What the cluster says of itself at one moment. */
export interface ClusterView {
  /** Listed and found, each ID once. */
  readonly servers: readonly SyncServer[];
  /** A part is `undefined` while it could never be listed. */
  readonly objects: ClusterObjects;
  /** What StorageVersions say that servers serve, by server ID. */
  readonly storageVersions: ReadonlyMap<string, ServedSet['storageVersions']>;
  /** What StorageVersions say that servers decode. */
  readonly decodableVersions: DecodableVersions;
  /** Whether everything could be listed and is up to date. */
  readonly isWhole: boolean;
  readonly warnings: readonly string[];
}

/** Finds the servers of a cluster, and follows what they share. */
export interface ClusterSource {
  /** Watches until `signal` aborts. Never rejects. Once only. */
  run(signal: AbortSignal): Promise<void>;
  /** Resolves when everything was listed, or could not be, for the first time; at once when `signal` aborts. */
  ready(signal: AbortSignal): Promise<void>;
  /** @param answered whether a server answered when it was last read; `undefined` while it was not */
  look(answered: (id: string) => boolean | undefined): ClusterView;
  /** Calls `listener` when there is reason to look again. @returns how to stop that */
  onChange(listener: () => void): () => void;
}

/**
 * Follows the API servers of a cluster by its objects: identity Leases, EndpointSlices and certificates.
 *
 * @example
 * ```ts
 * const source = createClusterSource({
 *   connection,
 *   servingNames: async () => [],
 *   documentsOf: () => documents,
 *   listed: [{ id: apiServer.id, url: apiServer.url, documents }],
 *   clock: systemClock,
 * });
 * const stop = new AbortController();
 * const running = source.run(stop.signal);
 * await source.ready(signal);
 * console.log(source.look(() => undefined).servers.some(({ id }) => id === apiServer.id)); // true
 *
 * stop.abort();
 * await running;
 * ```
 */
export function createClusterSource(options: ClusterSourceOptions): ClusterSource {
  const { connection, clock, listed, documentsOf } = options;
  const timing = { ...defaultClusterTiming, ...options.timing };
  const listeners = new Set<() => void>();
  const changed = () => {
    for (const listener of listeners) listener();
  };
  const cluster = watchCluster({ connection, clock, timing, onChange: changed });
  const identities = createEndpointIdentities({
    servingNames: options.servingNames,
    clock,
    concurrency: 8,
    timeoutMilliseconds: timing.identityTimeout,
    backOff: timing.identityBackOff,
    refreshMilliseconds: timing.identityRefresh,
    onChange: changed,
  });
  let running: AbortSignal | undefined;
  let state = initialClusterState(serversOf(options.previous));
  const customResourceGroups = memo(groupVersionsOfCustomResources);
  const storageVersions = memo(servedByStorageVersions);
  const decodableVersions = memo(decodableByStorageVersions);

  const endpointsNow = () => {
    const byAddress = new Map(
      cluster.endpoints
        .items()
        ?.flat()
        .map((item) => [item.address, item]),
    );
    return cluster.endpoints.items() === undefined ? undefined : [...byAddress.values()];
  };

  function readable(server: FoundServer): SyncServer {
    const { holderIdentity, missingSince: _missing, namedSince: _named, ...description } = server;
    const hasAddress = server.address !== undefined || server.url !== undefined;
    return {
      ...description,
      documents: hasAddress ? documentsOf(server) : withoutAddress,
      incarnation: holderIdentity,
    };
  }

  return {
    async run(signal) {
      running = signal;
      await Promise.all(cluster.watches.map(({ watch }) => watch.run(signal)));
    },
    async ready(signal) {
      const aborted = new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
      const listedOnce = Promise.all(cluster.watches.map(({ watch }) => watch.attempted));
      const named = listedOnce.then(() => identities.resolve(endpointsNow() ?? [], signal));
      await Promise.race([named, aborted]);
    },
    look(answered) {
      const endpoints = endpointsNow();
      if (running !== undefined) void identities.resolve(endpoints ?? [], running);
      const leases = allLeases(cluster);
      const served = withLeases(storageVersions(cluster.storageVersions.items() ?? []), leases);
      state = nextClusterState(state, {
        listed,
        leases,
        endpoints,
        endpointServerIds: identities.serverIds(),
        hasStorageVersions: (id) => served.has(id),
        answered,
        now: clock.now(),
        monotonic: clock.monotonic(),
        departureMilliseconds: timing.departure,
        graceMilliseconds: timing.grace,
        isUpToDate: [...cluster.leases, cluster.endpoints].every((watch) => watch.failure() === undefined),
      });
      const definitions = cluster.customResourceDefinitions.items();
      const services = cluster.apiServices.items();
      return {
        servers: [
          ...listed.map((server) => {
            const leased = state.listed.get(server.id);
            return {
              ...server,
              hostname: server.hostname ?? leased?.hostname,
              incarnation: leased?.holderIdentity,
            };
          }),
          ...state.servers.map((server) => readable(server)),
        ],
        objects: {
          apiServices: services?.flatMap(({ apiServices }) => apiServices).sort(byGroupAndVersion),
          customResourceGroups: definitions === undefined ? undefined : customResourceGroups(definitions),
          customResources: definitions,
          warnings: services?.flatMap(({ warnings }) => warnings) ?? [],
        },
        storageVersions: served,
        decodableVersions: decodableVersions(cluster.storageVersions.items() ?? []),
        isWhole: cluster.watches.every(({ watch }) => watch.failure() === undefined),
        warnings: [
          ...cluster.watches.flatMap(({ kind, watch }) => {
            const failure = watch.failure();
            return failure === undefined ? [] : [`what is known of ${kind} stays as it was: ${failure}`];
          }),
          ...state.warnings,
        ],
      };
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/**
 * Without the servers whose Lease is gone: their entries are removed one by one then (kube-controller-manager's
 * storage version garbage collector), and what is left of them says less than they served.
 */
function withLeases(
  served: ClusterView['storageVersions'],
  leases: readonly IdentityLease[] | undefined,
): ClusterView['storageVersions'] {
  if (leases === undefined) return served;
  const ids = new Set(leases.map(({ id }) => id));
  return new Map([...served].filter(([id]) => ids.has(id)));
}

function serversOf(snapshot: Snapshot | undefined): FoundServer[] {
  return (snapshot?.servers ?? []).map(
    ({ id, address, url, addressSource, serverName, hostname, departedAt }) => ({
      id,
      address,
      url,
      addressSource,
      serverName,
      hostname,
      ...(departedAt === undefined ? {} : { departedAt: parseRfc3339(departedAt) }),
    }),
  );
}

const withoutAddress: ServerDocuments = {
  async get() {
    throw new ReadError('Unreachable', 'its address is not known');
  },
};

/** Computes anew only for another argument: rounds come every second, changes every week. */
function memo<Argument extends object, Result>(compute: (argument: Argument) => Result) {
  let last: { readonly argument: Argument; readonly result: Result } | undefined;
  return (argument: Argument): Result => {
    if (last?.argument !== argument) last = { argument, result: compute(argument) };
    return last.result;
  };
}
