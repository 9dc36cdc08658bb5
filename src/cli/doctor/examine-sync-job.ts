import type { ClusterAccess, ClusterCredentials } from '../../sync/node/cluster-access.ts';
import { messageOf } from '../terminal/command-context.ts';
import type { ExaminedServer } from './examined-server.ts';
import type { Finding } from './finding.ts';
import { type ReadServer, syncRightsFindings } from './sync-rights-findings.ts';

/**
 * Looks at what the sync job may do, at the server of its kubeconfig and at those that it reads beside it.
 * @param servers those that the router reaches
 */
export async function examineSyncJob(
  kubeconfig: string,
  servers: readonly ExaminedServer[],
): Promise<readonly Finding[]> {
  const access = await readAccess(kubeconfig);
  if ('result' in access) return [access];
  const { server, credentials } = access;
  const others = servers.filter(({ origin }) => origin !== server);
  const named = servers.find(({ origin }) => origin === server);
  const own: ReadServer = {
    id: named?.id ?? new URL(server).host,
    origin: server,
    serverName: credentials.serverName,
  };
  return syncRightsFindings([own, ...others], credentials);
}

interface ReadAccess {
  readonly server: string;
  readonly credentials: ClusterCredentials;
}

async function readAccess(kubeconfig: string): Promise<ReadAccess | Finding> {
  // Loaded only where it is used: it is most of what this command would start with.
  const { loadClusterAccess } = await import('../../sync/node/index.ts');
  try {
    const access: ClusterAccess = await loadClusterAccess({ kubeconfig });
    return { server: access.server, credentials: await access.credentials() };
  } catch (error) {
    return {
      check: 'rights of the sync job',
      result: 'failed',
      message: `--sync-kubeconfig: ${messageOf(error)}`,
    };
  }
}
