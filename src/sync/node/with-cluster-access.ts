import { type ClusterAccess, type ClusterCredentials, loadClusterAccess } from './cluster-access.ts';
import type { LeaseClientOptions } from './lease-client.ts';
import type { RunSyncOptions } from './run-sync-options.ts';

export interface OptionsWithAccess {
  /** With the kubeconfig's values for options that were left out. */
  readonly options: RunSyncOptions;
  /** `undefined`: all servers are listed by hand. */
  readonly access: ClusterAccess | undefined;
}

/** Loads the kubeconfig that the options name. @throws {TypeError} if it cannot be used */
export async function withClusterAccess(options: RunSyncOptions): Promise<OptionsWithAccess> {
  const { kubernetes, certificateAuthorities, clientCertificate } = options;
  if (kubernetes === undefined) return { options, access: undefined };
  const access = await loadClusterAccess(kubernetes);
  const credentials = await access.credentials();
  return {
    access,
    options: {
      ...options,
      certificateAuthorities: certificateAuthorities ?? credentials.certificateAuthorities,
      clientCertificate: clientCertificate ?? credentials.clientCertificate,
    },
  };
}

/** The connection of leader election: to the kubeconfig's own address, as its user. */
export async function leaseAccessOf(
  access: ClusterAccess,
  certificateAuthorities: string,
): Promise<Omit<LeaseClientOptions, 'namespace' | 'name' | 'timeoutMilliseconds'>> {
  const { server, credentials } = access;
  const first = await credentials();
  return {
    // Empty: the host of the URL. The default would be the name of API servers.
    servers: [{ origin: server, serverName: first.serverName ?? '' }],
    certificateAuthorities: first.certificateAuthorities ?? certificateAuthorities,
    clientCertificate: first.clientCertificate,
    bearerToken:
      bearerTokenOf(first) === undefined ? undefined : async () => bearerTokenOf(await credentials()) ?? '',
  };
}

function bearerTokenOf({ headers }: ClusterCredentials): string | undefined {
  const index = headers.findIndex((name, at) => at % 2 === 0 && name.toLowerCase() === 'authorization');
  const value = index === -1 ? '' : (headers[index + 1] ?? '');
  return /^Bearer (.+)$/i.exec(value)?.[1];
}
