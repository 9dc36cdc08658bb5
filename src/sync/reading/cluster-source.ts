import { type Clock, parseRfc3339 } from '../../runtime/time.ts';
import { parseHostPort } from '../../snapshot/addresses/addresses.ts';
import type { ServedSet, Snapshot } from '../../snapshot/format/schema.ts';
import { type RefusedAddress, refusedAddressText } from '../../snapshot/receiving/refused-addresses.ts';
import {
  apiEndpointsPath,
  EndpointNames,
  type EndpointNamesOptions,
  endpointServerId,
  parseApiEndpoints,
} from '../documents/endpoints.ts';
import { type IdentityLease, identityLeasePaths, parseIdentityLease } from '../documents/leases.ts';
import { ReadError, type ServerDocuments, type WatchConnection } from '../documents/server-documents.ts';
import {
  apiServicesOf,
  apiServicesPath,
  type ClusterObjects,
  customResourceDefinitionsPath,
  customResourceGroupsOf,
  parseApiService,
  parseCustomResourceDefinition,
} from '../documents/shared-objects.ts';
import {
  parseStorageVersion,
  servedByStorageVersions,
  storageVersionsPath,
} from '../documents/storage-versions.ts';
import type { ServerDescription, SyncServer } from '../documents/sync-server.ts';
import { defaultTiming, type SyncTiming } from '../documents/timing.ts';
import { type FoundServer, nextClusterState } from './cluster-state.ts';
import type { ReaderRecord } from './reader-record.ts';
import { Reflector } from './reflector.ts';

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

/** The result of a look at the cluster. */
export interface ClusterView {
  /** Sorted by ID. */
  readonly servers: readonly (FoundServer & SyncServer)[];
  /** A part is `undefined` until its first list. */
  readonly objects: ClusterObjects;
  readonly storageVersions: ServedResources;
  /** True: all that is watched could be listed. */
  readonly isWhole: boolean;
  /** True: an endpoint may be that of a Lease, which its host shows once it responds. */
  readonly awaitsHosts: boolean;
  readonly refused: readonly RefusedAddress[];
  readonly warnings: readonly string[];
}

/** Where the servers of a cluster, and what they share, are known from. */
export type ClusterSource = Pick<WatchedCluster, 'listed' | 'run' | 'ready' | 'look'>;

/** Follows the API servers of a cluster by its objects: identity Leases, EndpointSlices and certificates. */
export class WatchedCluster {
  readonly listed: readonly ServerDescription[];
  readonly #options: ClusterSourceOptions;
  readonly #timing: SyncTiming;
  readonly #objects: Reflectors;
  readonly #watched: readonly WatchedKind[];
  readonly #endpointNames: EndpointNames | undefined;
  #running: AbortSignal | undefined;
  #onChange = () => {};
  /** Servers of the snapshot of an earlier run, until the first look. */
  #earlier: readonly FoundServer[];

  constructor(options: ClusterSourceOptions) {
    const { clock, listed, finding } = options;
    const timing = { ...defaultTiming, ...options.timing };
    const onChange = () => this.#onChange();
    this.listed = listed;
    this.#options = options;
    this.#timing = timing;
    this.#objects = reflectorsOf({ connection: options.connection, clock, timing, onChange });
    this.#watched = watchedKinds(this.#objects, finding !== undefined);
    this.#endpointNames =
      finding && new EndpointNames({ servingNames: finding.servingNames, clock, timing, onChange });
    this.#earlier = serversOf(finding?.previous, finding?.refusal);
  }

  /** Watches until `signal` aborts. Never rejects. Once only. @param onChange called when a look would show something else */
  async run(signal: AbortSignal, onChange = () => {}): Promise<void> {
    this.#running = signal;
    this.#onChange = onChange;
    await Promise.all(this.#watched.map(({ reflector }) => reflector.run(signal)));
  }

  /** Resolves when the first attempt to list everything has ended; at once when `signal` aborts. */
  async ready(signal: AbortSignal): Promise<void> {
    const aborted = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    const listedOnce = Promise.all(this.#watched.map(({ reflector }) => reflector.attempted));
    const named = listedOnce.then(() => this.#endpointNames?.resolve(this.#endpoints() ?? [], signal));
    await Promise.race([named, aborted]);
  }

  /** @param records what is known of the servers of the last look, by ID */
  look(records: ReadonlyMap<string, ReaderRecord>): ClusterView {
    const { clock, finding, documentsOf } = this.#options;
    const { storageVersions } = this.#objects;
    const refused: RefusedAddress[] = [];
    const leases = this.#leases()?.map((lease) => dialable(lease, refused, finding?.refusal));
    const endpoints = this.#endpoints()?.filter(
      (address) => !isRefused(endpointServerId(address), address, refused, finding?.refusal),
    );
    if (this.#running !== undefined) void this.#endpointNames?.resolve(endpoints ?? [], this.#running);
    const entries = storageVersions.items() ?? [];
    const served = withLeases(servedByStorageVersions(entries), leases);
    const before = [...this.#earlier, ...[...records.values()].map(({ server }) => server)];
    this.#earlier = [];
    const state = nextClusterState(before, {
      listed: this.listed,
      leases,
      endpoints,
      endpointNames: this.#endpointNames?.names() ?? new Map(),
      hasStorageVersions: (id) => served.has(id),
      isReadable: (id) => records.get(id)?.reading?.ok,
      now: clock.now(),
      monotonic: clock.monotonic(),
      timing: this.#timing,
      isUpToDate: this.#isUpToDate(),
    });
    const servers = state.servers.map((server) => ({
      ...server,
      documents: documentsOf(server) ?? withoutAddress,
    }));
    this.#options.onServers?.(servers);
    return {
      servers,
      objects: this.#sharedObjects(),
      storageVersions: served,
      isWhole:
        finding === undefined || this.#watched.every(({ reflector }) => reflector.failure() === undefined),
      awaitsHosts: this.#endpointNames?.areAwaited === true,
      refused,
      warnings: [...unreadWarnings(this.#watched), ...refused.map(refusedAddressText), ...state.warnings],
    };
  }

  #sharedObjects(): ClusterObjects {
    const services = this.#objects.apiServices.items();
    const definitions = this.#objects.definitions.items();
    const read = services && apiServicesOf(services);
    return {
      apiServices: read?.apiServices,
      customResourceGroups: definitions && customResourceGroupsOf(definitions),
      warnings: read?.warnings ?? [],
    };
  }

  /** Leases with either label, each once; `undefined` until both have been listed. */
  #leases(): readonly IdentityLease[] | undefined {
    const lists = this.#objects.leases.map((reflector) => reflector.items());
    if (lists.includes(undefined)) return undefined;
    return [...new Map(lists.flatMap((leases = []) => leases.map((lease) => [lease.id, lease]))).values()];
  }

  #endpoints(): readonly string[] | undefined {
    const endpoints = this.#objects.endpointSlices.items()?.flat();
    return endpoints && [...new Set(endpoints)];
  }

  #isUpToDate(): boolean {
    const { leases, endpointSlices } = this.#objects;
    return [...leases, endpointSlices].every((reflector) => reflector.failure() === undefined);
  }
}

type Reflectors = ReturnType<typeof reflectorsOf>;

function reflectorsOf(common: {
  readonly connection: WatchConnection;
  readonly clock: Clock;
  readonly timing: SyncTiming;
  readonly onChange: () => void;
}) {
  return {
    leases: identityLeasePaths.map(
      (path) =>
        new Reflector<IdentityLease>({
          ...common,
          silenceWithItems: Math.min(common.timing.silence, leaseSilence),
          path,
          project: parseIdentityLease,
          reported: ({ renewedAt: _renewedAt, ...lease }) => lease,
        }),
    ),
    endpointSlices: new Reflector({ ...common, path: apiEndpointsPath, project: parseApiEndpoints }),
    storageVersions: new Reflector({ ...common, path: storageVersionsPath, project: parseStorageVersion }),
    apiServices: new Reflector({ ...common, path: apiServicesPath, project: parseApiService }),
    // A definition with its schemas can have a megabyte; only its names and versions are kept.
    definitions: new Reflector({
      ...common,
      path: customResourceDefinitionsPath,
      project: parseCustomResourceDefinition,
    }),
  };
}

function watchedKinds(
  { leases, endpointSlices, storageVersions, apiServices, definitions }: Reflectors,
  finds: boolean,
): readonly WatchedKind[] {
  const finders: readonly WatchedKind[] = [
    ...leases.map((reflector) => ({ kind: 'identity Leases', reflector })),
    { kind: 'EndpointSlices of default/kubernetes', reflector: endpointSlices },
    { kind: 'StorageVersions', reflector: storageVersions },
  ];
  return [
    ...(finds ? finders : []),
    { kind: 'APIServices', reflector: apiServices },
    { kind: 'CustomResourceDefinitions', reflector: definitions },
  ];
}

/** Resources that servers serve by their StorageVersions, by server ID. */
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
