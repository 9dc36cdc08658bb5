import type { ServeConfig } from '../../node/configuration/serve-config.ts';
import { errorMessage } from '../../runtime/error-message.ts';
import type {
  ClusterAccess,
  ClusterAccessOptions,
  ClusterCredentials,
} from '../../sync/node/cluster-access.ts';
import type { ExaminedServer, Finding } from './finding.ts';
import { type ReadServer, syncRightsFindings } from './sync-rights-findings.ts';

/**
 * Looks at what the sync job may do, at the server of its kubeconfig and at the others that it reads.
 * @param servers those that the router reaches
 */
export function examineSyncJob(
  kubeconfig: string,
  servers: readonly ExaminedServer[],
): Promise<readonly Finding[]> {
  return examineRights('--sync-kubeconfig', { kubeconfig }, servers, { isSpare: false, electsLeader: true });
}

/**
 * The same for a router that reads the cluster itself; nothing for one that is pushed to. A sidecar has its local server
 * to read by: what its kubeconfig names is asked last, and may be the router that is about to be started.
 */
export async function examineEmbeddedSync(
  { embeddedSync, serverId }: Pick<ServeConfig, 'embeddedSync' | 'serverId'>,
  servers: readonly ExaminedServer[],
): Promise<readonly Finding[]> {
  if (embeddedSync === undefined) return [];
  const { access } = embeddedSync;
  const isSpare = servers.some(({ id }) => id === serverId);
  return 'kubeconfig' in access
    ? examineRights(
        '--kubeconfig',
        { kubeconfig: access.kubeconfig.path, text: access.kubeconfig.text, context: access.context },
        servers,
        { isSpare, electsLeader: false },
      )
    : examineRights('--in-cluster', access, servers, { isSpare, electsLeader: false });
}

interface ExaminedAs {
  /** Whether it does not matter that the server that is named cannot be asked. */
  readonly isSpare: boolean;
  readonly electsLeader: boolean;
}

async function examineRights(
  flag: string,
  options: ClusterAccessOptions,
  servers: readonly ExaminedServer[],
  { isSpare, electsLeader }: ExaminedAs,
): Promise<readonly Finding[]> {
  const access = await readAccess(flag, options);
  if ('result' in access) return [access];
  const { server, credentials } = access;
  const others = servers.filter(({ origin }) => origin !== server);
  const named = servers.find(({ origin }) => origin === server);
  const own: ReadServer = {
    id: named?.id ?? new URL(server).host,
    origin: server,
    serverName: credentials.serverName,
    isSpare,
  };
  return syncRightsFindings([own, ...others], credentials, electsLeader);
}

interface ReadAccess {
  readonly server: string;
  readonly credentials: ClusterCredentials;
}

async function readAccess(flag: string, options: ClusterAccessOptions): Promise<ReadAccess | Finding> {
  // Loaded only where it is used: it is most of what this command would start with.
  const { loadClusterAccess } = await import('../../sync/node/index.ts');
  try {
    const access: ClusterAccess = await loadClusterAccess(options);
    return { server: access.server, credentials: await access.credentials() };
  } catch (error) {
    return { check: 'rights of the sync job', result: 'failed', message: `${flag}: ${errorMessage(error)}` };
  }
}
