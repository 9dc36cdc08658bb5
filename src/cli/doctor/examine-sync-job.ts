import type { ServeConfig } from '../../node/configuration/serve-config.ts';
import { errorMessage } from '../../runtime/error-message.ts';
import type { ClusterAccessOptions, ClusterCredentials } from '../../sync/node/cluster-access.ts';
import type { ExaminedServer, Finding } from './finding.ts';
import {
  type ClusterReader,
  type ReadServer,
  rightsCheck,
  syncRightsFindings,
} from './sync-rights-findings.ts';

/**
 * Looks at what the sync job may do, at the server of its kubeconfig and at the others that it reads.
 * @param servers those that the router reaches
 */
export function examineSyncJob(
  kubeconfig: string,
  servers: readonly ExaminedServer[],
): Promise<readonly Finding[]> {
  return examineRights('the sync job', '--sync-kubeconfig', { kubeconfig }, servers);
}

/** The same for a router that reads the cluster itself; nothing for one that is pushed to. */
export async function examineEmbeddedSync(
  { embeddedSync }: Pick<ServeConfig, 'embeddedSync'>,
  servers: readonly ExaminedServer[],
): Promise<readonly Finding[]> {
  if (embeddedSync === undefined) return [];
  const { access } = embeddedSync;
  // A sidecar has its local server to read by: what its kubeconfig names is asked last, and may be the router that is
  // about to be started.
  const isSpare = servers.some(({ kind }) => kind === 'local');
  if (!('kubeconfig' in access))
    return examineRights('this router', '--in-cluster', access, servers, isSpare);
  const { path, text } = access.kubeconfig;
  const options = { kubeconfig: path, text, context: access.context };
  return examineRights('this router', '--kubeconfig', options, servers, isSpare);
}

/** @param isSpare whether it does not matter that the server that is named cannot be asked */
async function examineRights(
  reader: ClusterReader,
  flag: string,
  options: ClusterAccessOptions,
  servers: readonly ExaminedServer[],
  isSpare = false,
): Promise<readonly Finding[]> {
  // Loaded only where it is used: it is most of what this command would start with.
  const { loadClusterAccess } = await import('../../sync/node/index.ts');
  let server: string;
  let credentials: ClusterCredentials;
  try {
    const access = await loadClusterAccess(options);
    server = access.server;
    credentials = await access.credentials();
  } catch (error) {
    return [{ check: rightsCheck(reader), result: 'failed', message: `${flag}: ${errorMessage(error)}` }];
  }
  const others = servers.filter(({ origin }) => origin !== server);
  const named = servers.find(({ origin }) => origin === server);
  const own: ReadServer = {
    id: named?.id ?? new URL(server).host,
    origin: server,
    serverName: credentials.serverName,
    isSpare,
  };
  return syncRightsFindings([own, ...others], credentials, reader);
}
