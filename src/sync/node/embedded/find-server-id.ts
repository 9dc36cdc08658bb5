import {
  type IdentityLease,
  identityLeaseSelectors,
  leasesPath,
  parseIdentityLease,
} from '../../cluster/identity-lease.ts';
import { listObjects, withLabelSelector } from '../../documents/list-objects.ts';
import type { ServerDocuments } from '../../documents/server-documents.ts';
import { type ClusterAccessOptions, loadClusterAccess } from '../cluster-access.ts';
import { kubernetesConnection } from '../kubernetes-connection.ts';
import type { LocalApiServer } from '../run-sync-options.ts';

/** Milliseconds for all of it. */
const listTimeout = 10_000;

interface FindServerIdOptions {
  readonly access: ClusterAccessOptions;
  /** Asked first. */
  readonly local: Omit<LocalApiServer, 'id'>;
  /** As the operating system says it, which is what kube-apiserver writes into its Lease. */
  readonly hostname: string;
}

/**
 * The ID of the kube-apiserver on this host: the name of the identity Lease that carries the host's name (KEP-1965), of
 * several the one that was renewed last.
 * @throws {Error} that says what to do when nobody tells, or there is none
 */
export async function findServerId({ access, local, hostname }: FindServerIdOptions): Promise<string> {
  const connection = kubernetesConnection({ access: await loadClusterAccess(access), local });
  try {
    const leases = await Promise.all(
      identityLeaseSelectors.map((selector) => leasesOf(connection, selector)),
    );
    const known = leases.flat();
    const [own] = known
      .filter((lease) => lease.hostname === hostname)
      .sort((one, other) => other.renewedAt - one.renewedAt);
    if (own !== undefined) return own.id;
    const hosts = [...new Set(known.map((lease) => lease.hostname ?? '(unknown)'))].sort().join(', ');
    throw new Error(
      `no identity Lease in kube-system is of this host, ${hostname}${hosts === '' ? '' : ` (they are of ${hosts})`}: give --server-id`,
    );
  } finally {
    await connection.close();
  }
}

/** Twice, for the second attempt asks another server. */
async function leasesOf(connection: ServerDocuments, selector: string): Promise<readonly IdentityLease[]> {
  const path = withLabelSelector(leasesPath, selector);
  const list = () => listObjects(connection, path, AbortSignal.timeout(listTimeout));
  const items = await list().catch(list);
  return items.map(parseIdentityLease);
}
