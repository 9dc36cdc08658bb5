import type { IdentityLease } from '../../../src/sync/documents/leases.ts';
import type { SyncServer } from '../../../src/sync/documents/sync-server.ts';
import { defaultTiming } from '../../../src/sync/documents/timing.ts';
import type { ClusterSource } from '../../../src/sync/reading/cluster-source.ts';
import type { ClusterInput } from '../../../src/sync/reading/cluster-state.ts';
import {
  type ClusterState,
  type FoundServer,
  nextClusterState,
} from '../../../src/sync/reading/cluster-state.ts';

export const startOfTime = Date.UTC(2026, 0, 31);

/** A Lease that was renewed a moment ago, by a server on a host of the same name. */
export function leaseOf(id: string, rest: Partial<IdentityLease> = {}): IdentityLease {
  return {
    id,
    hostname: id,
    address: undefined,
    holderIdentity: `${id}_1`,
    renewedAt: startOfTime - 1000,
    createdAt: undefined,
    durationMilliseconds: 3_600_000,
    ...rest,
  };
}

export interface Look extends Partial<Omit<ClusterInput, 'isReadable' | 'endpoints' | 'endpointNames'>> {
  /** Addresses. Default: none. */
  readonly endpoints?: readonly string[] | undefined;
  readonly endpointNames?: Readonly<Record<string, readonly string[]>>;
  /** True, by server, if its last read succeeded. Default: not read yet. */
  readonly readable?: Readonly<Record<string, boolean>>;
  /** Milliseconds since the start, for both clocks. Default 0. */
  readonly at?: number;
}

/** Looks at a cluster again and again. */
export function clusterStates(known: readonly FoundServer[] = []) {
  let current: ClusterState = { servers: known, warnings: [] };
  return {
    look(given: Look): ClusterState {
      const { at = 0, endpoints = [], endpointNames = {}, readable = {}, ...rest } = given;
      current = nextClusterState(current.servers, {
        listed: [],
        leases: [],
        hasStorageVersions: () => false,
        now: startOfTime + at,
        monotonic: at,
        timing: defaultTiming,
        isUpToDate: true,
        ...rest,
        endpoints: 'endpoints' in given && given.endpoints === undefined ? undefined : endpoints,
        endpointNames: new Map(Object.entries(endpointNames)),
        isReadable: (id) => readable[id],
      });
      return current;
    },
  };
}

/** `id@address` of each server. */
export function placesOf({ servers }: ClusterState): string[] {
  return servers.map(({ id, address, url }) => `${id}@${address ?? url ?? 'nowhere'}`);
}

/** A cluster of these servers, of which nothing else is known. */
export function clusterOf(servers: readonly SyncServer[]): ClusterSource {
  const objects = { apiServices: undefined, customResourceGroups: undefined, warnings: [] };
  return {
    listed: servers,
    run: async () => {},
    ready: async () => {},
    look: () => ({
      servers: [...servers],
      objects,
      storageVersions: new Map(),
      isWhole: true,
      awaitsHosts: false,
      refused: [],
      warnings: [],
    }),
  };
}
