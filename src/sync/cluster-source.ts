import type { Clock } from '../runtime/time.ts';
import { parseRfc3339 } from '../runtime/time.ts';
import type { ServedSet, Snapshot } from '../snapshot/format/schema.ts';
import type { FoundServer } from './addresses.ts';
import { allLeases, initialClusterState, nextClusterState, watchCluster } from './cluster-state.ts';
import {
  type ApiEndpoint,
  createEndpointIdentities,
  type EndpointIdentitiesOptions,
  type IdentityTiming,
} from './endpoints.ts';
import type { IdentityLease } from './leases.ts';
import type { WatchTiming } from './object-watch.ts';
import { ReadError, type ServerDocuments, type WatchConnection } from './server-documents.ts';
import { apiServicesOf, type ClusterObjects, groupVersionsOfCustomResources } from './shared-objects.ts';
import {
  type DecodableVersions,
  decodableByStorageVersions,
  servedByStorageVersions,
} from './storage-versions.ts';
import type { SyncServer } from './sync-server.ts';

/** Milliseconds. */
export interface ClusterTiming extends WatchTiming, IdentityTiming {
  /** How long a server is kept that nothing names and that cannot be read. Default 5,000. */
  readonly departure: number;
  /** How long the resources of a departed server stay known. 0: not at all. Default 900,000. */
  readonly grace: number;
}

const defaultClusterTiming: ClusterTiming = {
  listTimeout: 30_000,
  silence: 90_000,
  resync: 600_000,
  backOff: { initialMilliseconds: 200, maximumMilliseconds: 10_000 },
  departure: 5_000,
  grace: 900_000,
  identityTimeout: 5_000,
  identityRefresh: 600_000,
  identityBackOff: { initialMilliseconds: 1_000, maximumMilliseconds: 60_000 },
};

interface ClusterSourceOptions {
  /** Where to list and watch. */
  readonly connection: WatchConnection;
  readonly servingNames: EndpointIdentitiesOptions['servingNames'];
  /** How a server is read at its own address: the same object for the same address. */
  readonly documentsOf: (server: FoundServer) => ServerDocuments;
  readonly listed: readonly SyncServer[];
  /** The snapshot of an earlier run: its servers stay until Leases and endpoints have been listed. */
  readonly previous?: Snapshot | undefined;
  readonly clock: Clock;
  readonly timing?: Partial<ClusterTiming> | undefined;
  /** Called with the servers of each look. */
  readonly onServers?: ((servers: readonly SyncServer[]) => void) | undefined;
}

export interface ClusterView {
  /** Listed by hand and found, each ID once. */
  readonly servers: readonly SyncServer[];
  /** A part is `undefined` until its first list. */
  readonly objects: ClusterObjects;
  /** What servers serve by their StorageVersions, by server ID. */
  readonly storageVersions: ReadonlyMap<string, ServedSet['storageVersions']>;
  readonly decodableVersions: DecodableVersions;
  /** Whether everything has been listed and is up to date. */
  readonly isWhole: boolean;
  readonly warnings: readonly string[];
}

/** Finds the servers of a cluster, and watches the objects that they share. */
export interface ClusterSource {
  /** Watches until `signal` aborts. Never rejects. Once only. */
  run(signal: AbortSignal): Promise<void>;
  /** Resolves when the first attempt to list everything has ended; at once when `signal` aborts. */
  ready(signal: AbortSignal): Promise<void>;
  /** @param isReadable whether the last read of a server succeeded; `undefined` before the first */
  look(isReadable: (id: string) => boolean | undefined): ClusterView;
  /** Calls `listener` after a change. @returns a function that stops it */
  onChange(listener: () => void): () => void;
}

/**
 * Follows the API servers of a cluster by its objects: identity Leases, EndpointSlices and certificates.
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
    timing,
    onChange: changed,
  });
  let running: AbortSignal | undefined;
  let state = initialClusterState(serversOf(options.previous));

  /** Each address once. */
  function endpointsNow(): readonly ApiEndpoint[] | undefined {
    const endpoints = cluster.endpoints.items()?.flat();
    return endpoints && [...new Map(endpoints.map((endpoint) => [endpoint.address, endpoint])).values()];
  }

  function readable(server: FoundServer): SyncServer {
    const {
      holderIdentity,
      heldAt: _held,
      missingSince: _missing,
      namedSince: _named,
      ...description
    } = server;
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
    look(isReadable) {
      const endpoints = endpointsNow();
      if (running !== undefined) void identities.resolve(endpoints ?? [], running);
      const leases = allLeases(cluster);
      const storageVersions = cluster.storageVersions.items() ?? [];
      const served = withLeases(servedByStorageVersions(storageVersions), leases);
      state = nextClusterState(state, {
        listed,
        leases,
        endpoints,
        endpointServerIds: identities.serverIds(),
        hasStorageVersions: (id) => served.has(id),
        isReadable,
        now: clock.now(),
        monotonic: clock.monotonic(),
        departureMilliseconds: timing.departure,
        graceMilliseconds: timing.grace,
        isUpToDate: [...cluster.leases, cluster.endpoints].every((watch) => watch.failure() === undefined),
      });
      const definitions = cluster.customResourceDefinitions.items();
      const parsedServices = cluster.apiServices.items();
      const services = parsedServices && apiServicesOf(parsedServices);
      const servers = [
        ...listed.map((server) => {
          const leased = state.listed.get(server.id);
          return {
            ...server,
            hostname: server.hostname ?? leased?.hostname,
            incarnation: leased?.holderIdentity,
            acquired: leased?.acquired,
          };
        }),
        ...state.servers.map((server) => readable(server)),
      ];
      options.onServers?.(servers);
      return {
        servers,
        objects: {
          apiServices: services?.apiServices,
          customResourceGroups: definitions && groupVersionsOfCustomResources(definitions),
          customResources: definitions,
          warnings: services?.warnings ?? [],
        },
        storageVersions: served,
        decodableVersions: decodableByStorageVersions(storageVersions),
        isWhole: cluster.watches.every(({ watch }) => watch.failure() === undefined),
        warnings: [
          ...unreadWarnings(
            cluster.watches.map(({ kind, watch }) => ({
              kind,
              failure: watch.failure(),
              isKnown: watch.items() !== undefined,
            })),
          ),
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
 * Without servers whose Lease is gone: kube-controller-manager's storage version garbage collector removes their entries
 * one by one, so the remaining ones show less than they served.
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

/** Whether the objects of a kind can be read. */
interface WatchedKind {
  /** In the plural. Several watches may be of one kind. */
  readonly kind: string;
  /** Why they cannot be read; `undefined` if they can. */
  readonly failure: string | undefined;
  /** Whether they have ever been read. */
  readonly isKnown: boolean;
}

/** A warning for each reason why something cannot be read: what has one cause is told once. Pure. */
export function unreadWarnings(watched: readonly WatchedKind[]): readonly string[] {
  const failed = watched.filter(({ failure }) => failure !== undefined);
  // Before the first list there is no last known state to use.
  const groups = Map.groupBy(failed, ({ failure, isKnown }) => `${isKnown} ${failure}`);
  return [...groups.values()].map((alike) => {
    const isAll = alike.length === watched.length;
    const subject = isAll ? 'the cluster' : listed(new Set(alike.map(({ kind }) => kind)));
    const [{ failure, isKnown } = { failure: '', isKnown: false }] = alike;
    const use = isKnown ? `, so ${isAll ? 'its' : 'their'} last known state is used` : '';
    return `${subject} cannot be read${use}: ${failure}`;
  });
}

function listed(kinds: ReadonlySet<string>): string {
  const names = [...kinds];
  const last = names.pop() ?? '';
  return names.length === 0 ? last : `${names.join(', ')} and ${last}`;
}
