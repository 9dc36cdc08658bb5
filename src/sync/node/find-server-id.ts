import { hostname } from 'node:os';
import type { ClusterAccessOptions, ServeConfig } from '../../node/configuration/serve-config.ts';
import { loadClusterAccess } from '../../node/credentials/cluster-access.ts';
import { isLocalServerAddress } from '../../node/process/local-server-id.ts';
import type { FoundServerId } from '../../node/process/process-edge.ts';
import { errorMessage } from '../../runtime/errors.ts';
import { apiEndpointsPath, endpointServerId, parseApiEndpoints } from '../documents/endpoints.ts';
import { identityLeasePaths, parseIdentityLease } from '../documents/leases.ts';
import {
  listObjects,
  ReadError,
  type ServerDocuments,
  withoutQuery,
  withReadTimeout,
} from '../documents/server-documents.ts';
import { ApiClient } from './api-client.ts';
import type { LocalApiServer } from './sync-options.ts';

const listTimeout = 10_000;

interface FindServerIdOptions {
  readonly access: ClusterAccessOptions;
  readonly local: Omit<LocalApiServer, 'id' | 'isAt'>;
  /** As the operating system says it, which is what kube-apiserver writes into its Lease. */
  readonly hostname: string;
  readonly isLocal: (address: string) => boolean;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The ID of the kube-apiserver on this host: the name of the identity Lease that carries the host's name (KEP-1965), of
 * several the one that was renewed last. A server without such a Lease (before 1.26, or with the feature gate
 * `APIServerIdentity` off) has the ID that the sync job makes of its endpoint in the Service `kubernetes`.
 * @throws {Error} that says what to do when nobody tells, or there is neither
 */
export async function findServerId({
  access,
  local,
  hostname,
  isLocal,
  signal,
}: FindServerIdOptions): Promise<FoundServerId> {
  const { server: origin, serverName, credentials } = await loadClusterAccess(access);
  const client = new ApiClient({ credentials });
  // The kubeconfig's server may be a router.
  const connection = client.watching(() => [local, { origin, serverName }]);
  try {
    const lists = await Promise.all(identityLeasePaths.map((path) => listed(connection, path, signal)));
    const leases = lists.flat().map(parseIdentityLease);
    const [own] = leases
      .filter((lease) => lease.hostname === hostname)
      .sort((one, other) => other.renewedAt - one.renewedAt);
    if (own !== undefined) return { id: own.id, source: `identity Lease of this host, ${hostname}` };
    const slices = await listed(connection, apiEndpointsPath, signal);
    const addresses = [...new Set(slices.flatMap(parseApiEndpoints))].sort();
    const [address, ...others] = addresses.filter(isLocal);
    if (address !== undefined && others.length === 0) {
      const source = `endpoint ${address} of the Service kubernetes: no identity Lease is of this host, ${hostname}`;
      return { id: endpointServerId(address), source };
    }
    const hosts = [...new Set(leases.map((lease) => lease.hostname ?? '(unknown)'))].sort();
    const only = address === undefined ? 'no endpoint' : 'more than one endpoint';
    throw new Error(
      `no identity Lease in kube-system is of this host, ${hostname}${among(hosts)}, and ${only} of the Service kubernetes leads to it${among(addresses)}: give --server-id`,
    );
  } finally {
    client.close();
  }
}

function among(known: readonly string[]): string {
  return known.length === 0 ? '' : ` (they are of ${known.join(', ')})`;
}

async function listed(
  connection: ServerDocuments,
  path: string,
  signal: AbortSignal | undefined,
): Promise<readonly unknown[]> {
  const list = async () => {
    const found = await withReadTimeout(listTimeout, signal, (deadline) =>
      listObjects(connection, path, deadline),
    );
    if (found !== undefined) return found.items;
    throw new ReadError('UnexpectedStatus', `${withoutQuery(path)} returned 404 instead of 200`);
  };
  // A server that takes the connection and says nothing uses up the time: the second attempt asks another.
  return list().catch((reason: unknown) =>
    list().catch(() => {
      throw reason;
    }),
  );
}

/**
 * The ID of the local server of a router that reads the cluster: what `--server-id` would say.
 * @throws {Error} that names the flag, and says what to do
 */
export async function findOwnServerId(config: ServeConfig, signal?: AbortSignal): Promise<FoundServerId> {
  const { embeddedSync: access, local } = config;
  if (access === undefined || local === undefined) throw new TypeError('There is no cluster to ask.');
  const { origin, serverName, ca } = local;
  try {
    return await findServerId({
      access,
      local: { origin, serverName, certificateAuthorities: () => ca.pem },
      hostname: hostname(),
      isLocal: isLocalServerAddress(config),
      signal,
    });
  } catch (error) {
    throw new Error(
      `--server-id is not given, and cannot be found: ${errorMessage(error)}${adviceOn(error, access)}`,
      { cause: error },
    );
  }
}

/** Where a response is the wrong one, most often a right is missing. */
function adviceOn(error: unknown, access: ClusterAccessOptions): string {
  if (!('kubeconfig' in access) || !(error instanceof ReadError) || error.code !== 'UnexpectedStatus')
    return '';
  return `. The user of ${access.kubeconfig} may lack a right: deploy/kubernetes/reader.yaml has all that reading the cluster takes`;
}
