import { type Clock, parseRfc3339 } from '../runtime/time.ts';
import { parseHostPort } from '../snapshot/addresses/addresses.ts';
import type { ServedSet, Snapshot } from '../snapshot/format/schema.ts';
import { type RefusedAddress, refusedAddressText } from '../snapshot/receiving/refused-addresses.ts';
import { type FoundServer, nextClusterState } from './cluster-state.ts';
import {
  apiEndpointsPath,
  createEndpointNames,
  type EndpointNamesOptions,
  endpointServerId,
  parseApiEndpoints,
} from './endpoints.ts';
import { type IdentityLease, identityLeasePaths, parseIdentityLease } from './leases.ts';
import { createReflector, type Reflector } from './reflector.ts';
import { ReadError, type ServerDocuments, type WatchConnection } from './server-documents.ts';
import {
  apiServicesOf,
  apiServicesPath,
  customResourceDefinitionsPath,
  customResourceGroupsOf,
  parseApiService,
  parseCustomResourceDefinition,
} from './shared-objects.ts';
import {
  decodableByStorageVersions,
  parseStorageVersion,
  servedByStorageVersions,
  storageVersionsPath,
} from './storage-versions.ts';
import type { ServerDescription, SyncServer } from './sync-server.ts';
import { defaultTiming, type SyncTiming } from './timing.ts';

/**
 * Each API server renews its Lease every 10 s, so silence on a watch of Leases shows an outage sooner than on other kinds,
 * which may send only one bookmark a minute. Of the two labels one usually has no Lease, and is as silent as those. Milliseconds.
 */
const leaseSilence = 35_000;

interface ClusterSourceOptions {
  readonly connection: WatchConnection;
  /** How a server is read: the same object for the same address; `undefined` where that is not known. */
  readonly documentsOf: (server: FoundServer) => ServerDocuments | undefined;
  readonly listed: readonly ServerDescription[];
  /** How servers are found. `undefined`: those are all that are listed by hand, and only what they share is watched. */
  readonly finding?:
    | {
        readonly servingNames: EndpointNamesOptions['servingNames'];
        /** Why an address may not be dialled, a sentence without its subject. Default: every one may. */
        readonly refusal?: ((address: string) => string | undefined) | undefined;
        /** The snapshot of an earlier run: its servers stay until Leases and endpoints have been listed. */
        readonly previous?: Snapshot | undefined;
      }
    | undefined;
  readonly clock: Clock;
  readonly timing?: Partial<SyncTiming> | undefined;
  readonly onServers?: ((servers: readonly SyncServer[]) => void) | undefined;
}

export type ClusterSource = ReturnType<typeof createClusterSource>;

/** Follows the API servers of a cluster by its objects: identity Leases, EndpointSlices and certificates. */
export function createClusterSource(options: ClusterSourceOptions) {
  const { connection, clock, listed, finding } = options;
  const timing = { ...defaultTiming, ...options.timing };
  let listener = () => {};
  const onChange = () => listener();
  const common = { connection, clock, timing, onChange };
  const leaseLists = identityLeasePaths.map((path) =>
    createReflector<IdentityLease>({
      ...common,
      silenceWithItems: Math.min(timing.silence, leaseSilence),
      path,
      project: parseIdentityLease,
      reported: ({ renewedAt: _renewedAt, ...lease }) => lease,
    }),
  );
  const endpointSlices = createReflector({
    ...common,
    path: apiEndpointsPath,
    project: parseApiEndpoints,
  });
  const storageVersions = createReflector({
    ...common,
    path: storageVersionsPath,
    project: parseStorageVersion,
  });
  const apiServices = createReflector({ ...common, path: apiServicesPath, project: parseApiService });
  // A definition with its schemas can have a megabyte; only its names and versions are kept.
  const definitions = createReflector({
    ...common,
    path: customResourceDefinitionsPath,
    project: parseCustomResourceDefinition,
  });
  const finders: readonly WatchedKind[] = [
    ...leaseLists.map((reflector) => ({ kind: 'identity Leases', reflector })),
    { kind: 'EndpointSlices of default/kubernetes', reflector: endpointSlices },
    { kind: 'StorageVersions', reflector: storageVersions },
  ];
  const watched: readonly WatchedKind[] = [
    ...(finding === undefined ? [] : finders),
    { kind: 'APIServices', reflector: apiServices },
    { kind: 'CustomResourceDefinitions', reflector: definitions },
  ];
  const endpointNames =
    finding && createEndpointNames({ servingNames: finding.servingNames, clock, timing, onChange });
  let running: AbortSignal | undefined;
  let found: readonly FoundServer[] = serversOf(finding?.previous, finding?.refusal);

  /** Leases with either label, each once; `undefined` until both have been listed. */
  function leasesNow(): readonly IdentityLease[] | undefined {
    const lists = leaseLists.map((reflector) => reflector.items());
    if (lists.includes(undefined)) return undefined;
    return [...new Map(lists.flatMap((leases = []) => leases.map((lease) => [lease.id, lease]))).values()];
  }

  function endpointsNow(): readonly string[] | undefined {
    const endpoints = endpointSlices.items()?.flat();
    return endpoints && [...new Set(endpoints)];
  }

  return {
    listed,
    /** Watches until `signal` aborts. Never rejects. Once only. @param onChange called when a look would show something else */
    async run(signal: AbortSignal, onChange = () => {}): Promise<void> {
      running = signal;
      listener = onChange;
      await Promise.all(watched.map(({ reflector }) => reflector.run(signal)));
    },
    /** Resolves when the first attempt to list everything has ended; at once when `signal` aborts. */
    async ready(signal: AbortSignal): Promise<void> {
      const aborted = new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
      const listedOnce = Promise.all(watched.map(({ reflector }) => reflector.attempted));
      const named = listedOnce.then(() => endpointNames?.resolve(endpointsNow() ?? [], signal));
      await Promise.race([named, aborted]);
    },
    /**
     * @param isReadable whether the last read of a server succeeded; `undefined` before the first
     * @returns of `objects` a part is `undefined` until its first list; `isWhole`: all that is watched could be listed
     */
    look(isReadable: (id: string) => boolean | undefined) {
      const refused: RefusedAddress[] = [];
      const leases = leasesNow()?.map((lease) => dialable(lease, refused, finding?.refusal));
      const endpoints = endpointsNow()?.filter(
        (address) => !isRefused(endpointServerId(address), address, refused, finding?.refusal),
      );
      if (running !== undefined) void endpointNames?.resolve(endpoints ?? [], running);
      const entries = storageVersions.items() ?? [];
      const served = withLeases(servedByStorageVersions(entries), leases);
      const state = nextClusterState(found, {
        listed,
        leases,
        endpoints,
        endpointNames: endpointNames?.names() ?? new Map(),
        hasStorageVersions: (id) => served.has(id),
        isReadable,
        now: clock.now(),
        monotonic: clock.monotonic(),
        timing,
        isUpToDate: [...leaseLists, endpointSlices].every((reflector) => reflector.failure() === undefined),
      });
      found = state.servers;
      const customResources = definitions.items();
      const parsedServices = apiServices.items();
      const services = parsedServices && apiServicesOf(parsedServices);
      const servers = found.map((server) => ({
        ...server,
        documents: options.documentsOf(server) ?? withoutAddress,
      }));
      options.onServers?.(servers);
      return {
        servers,
        objects: {
          apiServices: services?.apiServices,
          customResourceGroups: customResources && customResourceGroupsOf(customResources),
          warnings: services?.warnings ?? [],
        },
        storageVersions: served,
        decodableVersions: decodableByStorageVersions(entries),
        isWhole: finding === undefined || watched.every(({ reflector }) => reflector.failure() === undefined),
        refused,
        warnings: [...unreadWarnings(watched), ...refused.map(refusedAddressText), ...state.warnings],
      };
    },
  };
}

/** What servers serve by their StorageVersions, by server ID. */
type ServedResources = ReadonlyMap<string, ServedSet['storageVersions']>;

/**
 * Without servers whose Lease is gone: kube-controller-manager's storage version garbage collector removes their entries
 * one by one, so the remaining ones show less than they served.
 */
function withLeases(served: ServedResources, leases: readonly IdentityLease[] | undefined): ServedResources {
  if (leases === undefined) return served;
  const ids = new Set(leases.map(({ id }) => id));
  return new Map([...served].filter(([id]) => ids.has(id)));
}

type Refusal = ((address: string) => string | undefined) | undefined;

function isRefused(id: string, address: string, refused: RefusedAddress[], refusal: Refusal): boolean {
  const parsed = parseHostPort(address);
  const reason = parsed.ok ? refusal?.(address) : parsed.message;
  if (reason !== undefined) refused.push({ id, address, reason });
  return reason !== undefined;
}

/** kube-apiserver writes its annotation unchecked. Without it, the server has the address of its endpoint, or its earlier one. */
function dialable(lease: IdentityLease, refused: RefusedAddress[], refusal: Refusal): IdentityLease {
  const { id, address } = lease;
  if (address === undefined || !isRefused(id, address, refused, refusal)) return lease;
  return { ...lease, address: undefined, isAddressRefused: true };
}

/** An earlier run may have had another policy: the addresses that this one refuses are forgotten. */
function serversOf(snapshot: Snapshot | undefined, refusal: Refusal): FoundServer[] {
  return (snapshot?.servers ?? []).map(({ departedAt, address, url, ...server }) => ({
    ...server,
    ...(address === undefined || refusal?.(address) !== undefined ? {} : { address }),
    ...(url === undefined || refusal?.(url) !== undefined ? {} : { url }),
    ...(departedAt === undefined ? {} : { departedAt: parseRfc3339(departedAt) }),
  }));
}

const withoutAddress: ServerDocuments = {
  async get() {
    throw new ReadError('Unreachable', 'its address is not known');
  },
};

interface WatchedKind {
  readonly kind: string;
  readonly reflector: Pick<Reflector<unknown>, 'run' | 'attempted' | 'failure'>;
}

/** A warning for each reason why something cannot be read: what has one cause is told once. */
export function unreadWarnings(watched: readonly WatchedKind[]): readonly string[] {
  const reasons = Map.groupBy(watched, ({ reflector }) => reflector.failure());
  reasons.delete(undefined);
  return [...reasons].map(([failure, alike]) => {
    const kinds = [...new Set(alike.map(({ kind }) => kind))].join(', ');
    return `${alike.length === watched.length ? 'the cluster' : kinds} cannot be read: ${failure}`;
  });
}
