import { withDeadline } from '../../runtime/deadline.ts';
import { errorMessage } from '../../runtime/error-message.ts';
import type { ClusterSource, ClusterView } from '../../sync/cluster/cluster-source.ts';
import {
  type IdentityLease,
  identityLeaseSelectors,
  leaseStanding,
  leasesPath,
  parseIdentityLease,
} from '../../sync/cluster/identity-lease.ts';
import {
  decodableByStorageVersions,
  parseStorageVersion,
  servedByStorageVersions,
  storageVersionsPath,
} from '../../sync/cluster/storage-versions.ts';
import type { SyncServer } from '../../sync/cluster/sync-server.ts';
import { listObjectsIfServed } from '../../sync/documents/list-objects.ts';
import type { ServerDocuments } from '../../sync/documents/server-documents.ts';

/** Milliseconds for the lists of one server; those of the next one are asked for then. */
const listTimeout = 5_000;
/** Milliseconds for all of them, however many servers do not respond: the round has to read the others yet. */
const allListsTimeout = 15_000;

/** A list of objects that every server of a cluster can give, of whichever gives it first. */
type Listed = { readonly items: readonly unknown[] } | { readonly reason: string } | undefined;

/**
 * A cluster of servers that are listed by hand, looked at once: what StorageVersions say that they serve, where that
 * API is on, and which other servers hold identity Leases. Those cannot be routed to from a Worker, for the cluster
 * knows them by IP address; they are told of, so that somebody lists them.
 *
 * @param clock milliseconds since the epoch
 */
export function createListedCluster(servers: readonly SyncServer[], clock: () => number): ClusterSource {
  let read: Pick<ClusterView, 'storageVersions' | 'decodableVersions' | 'warnings'> = {
    storageVersions: new Map(),
    decodableVersions: new Map(),
    warnings: [],
  };
  return {
    // Nothing is watched: a Worker has one round.
    run: async () => {},
    onChange: () => () => {},
    async ready(signal) {
      const warnings: string[] = [];
      const deadline = AbortSignal.any([signal, AbortSignal.timeout(allListsTimeout)]);
      const list = <Item>(path: string, parse: (object: unknown) => Item): Promise<readonly Item[]> =>
        firstList(servers, path, parse, warnings, deadline);
      const [storageVersions, ...leases] = await Promise.all([
        list(storageVersionsPath, parseStorageVersion),
        ...identityLeaseSelectors.map((selector) =>
          list(`${leasesPath}?labelSelector=${encodeURIComponent(selector)}`, parseIdentityLease),
        ),
      ]);
      // By ID: a Lease that has both labels is in both lists.
      const byId = new Map(leases.flat().map((lease) => [lease.id, lease]));
      warnings.push(...unlisted(servers, [...byId.values()], clock()));
      read = {
        storageVersions: servedByStorageVersions(storageVersions),
        decodableVersions: decodableByStorageVersions(storageVersions),
        warnings,
      };
    },
    look: () => ({
      servers,
      ...read,
      // Read from the servers themselves, in the round.
      objects: { apiServices: undefined, customResourceGroups: undefined, warnings: [] },
      isWhole: true,
    }),
  };
}

/** The objects of the first server that lists them; none, with a warning, where no server does but one should. */
async function firstList<Item>(
  servers: readonly SyncServer[],
  path: string,
  parse: (object: unknown) => Item,
  warnings: string[],
  signal: AbortSignal,
): Promise<readonly Item[]> {
  const reasons: string[] = [];
  for (const { id, documents } of servers) {
    const listed = await listOf(documents, path, signal);
    if (listed === undefined) continue;
    if ('reason' in listed) {
      reasons.push(`${id}: ${listed.reason}`);
      continue;
    }
    try {
      return listed.items.map(parse);
    } catch (error) {
      reasons.push(`${id}: ${errorMessage(error)}`);
    }
  }
  if (reasons.length > 0)
    warnings.push(`${path} could not be listed, and is left out: ${reasons.join('; ')}`);
  return [];
}

/** `undefined` where the server does not serve the path, as most do not serve StorageVersions. */
async function listOf(documents: ServerDocuments, path: string, signal: AbortSignal): Promise<Listed> {
  try {
    return await withDeadline(
      listTimeout,
      signal,
      () => new Error('it did not respond in time'),
      (deadline) => listObjectsIfServed(documents, path, deadline),
    );
  } catch (error) {
    return { reason: errorMessage(error) };
  }
}

function unlisted(servers: readonly SyncServer[], leases: readonly IdentityLease[], now: number): string[] {
  const ids = new Set(servers.map(({ id }) => id));
  return leases
    .filter((lease) => !ids.has(lease.id) && leaseStanding(lease, leases, undefined, now, 0).kind === 'held')
    .map(
      ({ id, hostname = 'an unknown host' }) =>
        `the API server ${id} on ${hostname} holds an identity Lease and is not in SYNC_SERVERS: nothing is routed to it`,
    );
}
