import { join } from 'node:path';
import { writeKubeconfig } from '../../../demo/kubeconfig.ts';
import { serveFlags } from '../../../demo/routers.ts';
import { silentLogger } from '../../../src/runtime/logger.ts';
import { type TlsCredentials, tlsRequest } from '../../../test/support/clients/tls-request.ts';
import { commandModule, flagArguments } from '../../../test/support/commands/command.ts';
import { freePort } from '../../../test/support/free-port.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import type { LiveCertificates } from './certificates.ts';
import type { ControlPlane } from './control-plane.ts';
import type { KubeApiServer } from './kube-apiserver.ts';
import { endOfLog, type LoggedProcess, startLoggedProcess } from './logged-process.ts';
import { liveNetwork } from './network.ts';

/** `mixed-version-proxy serve`, as a process of its own. */
export interface LiveRouter {
  readonly name: string;
  readonly origin: string;
  readonly port: number;
  /** Arguments behind `serve`. */
  readonly flags: readonly string[];
  /** That runs, or ran last. */
  readonly process: LoggedProcess;
  /** Starts it once more, with what it has stored; resolves when it listens. */
  restart(): Promise<void>;
}

export interface LiveRouterOptions {
  readonly certificates: LiveCertificates;
  /** Public keys of the sync job. */
  readonly snapshotKeys: string;
  readonly directory: string;
  /** Further flags of `serve`. */
  readonly flags?: Readonly<Record<string, readonly string[]>>;
  /** Default: `router-a` for the server `a`. */
  readonly name?: string | undefined;
}

/** The means to read a cluster: a kubeconfig, and the servers that would not be found. */
export interface ClusterReading {
  readonly kubeconfig: string;
  readonly servers: readonly KubeApiServer[];
}

/** As the sync job, by this server or load balancer. */
export async function readingOf(
  { certificates, path, servers }: Pick<ControlPlane, 'certificates' | 'path' | 'servers'>,
  cluster: string,
): Promise<ClusterReading> {
  return {
    kubeconfig: await writeKubeconfig(path('sync.kubeconfig'), {
      servers: { cluster },
      certificateAuthority: certificates.clusterCa,
      users: { sync: certificates.sync },
    }),
    // In a network of their own they are found as in production: by their Leases and endpoints.
    servers: liveNetwork().isOwn ? [] : servers,
  };
}

/** Waits until each is ready, and knows as many servers as there are where that is asked for. */
export async function untilReady(
  routers: readonly LiveRouter[],
  admin: TlsCredentials,
  { servers }: { readonly servers?: number } = {},
): Promise<void> {
  for (const { name, origin } of routers) {
    await waitUntil(`${name} is ready`, async () => {
      if ((await tlsRequest(`${origin}/readyz`, admin)).statusCode !== 200) return false;
      if (servers === undefined) return true;
      const { text } = await tlsRequest(`${origin}/.mixed-version-proxy/v1/status`, admin);
      const { servers: known } = JSON.parse(text) as { servers: { stale: boolean }[] };
      return known.length === servers && known.every(({ stale }) => !stale);
    });
  }
}

/** Flags of a router that reads the cluster itself, in place of having snapshots pushed. */
export function readingFlags({ kubeconfig, servers }: ClusterReading): Record<string, readonly string[]> {
  return {
    'snapshot-keys': [],
    kubeconfig: [kubeconfig],
    server: servers.map(({ serverId, url }) => `${serverId}=${url}`),
  };
}

/** A router in front of one API server. */
export function startSidecar(apiServer: KubeApiServer, options: LiveRouterOptions): Promise<LiveRouter> {
  return startRouter(options.name ?? `router-${apiServer.name}`, apiServer, options, {});
}

/** A router in front of all of them. */
export function startGateway(options: LiveRouterOptions): Promise<LiveRouter> {
  const nobody = { serverId: '', url: '' };
  return startRouter('gateway', nobody, options, {
    gateway: ['true'],
    'server-id': undefined,
    'local-server': undefined,
  });
}

async function startRouter(
  name: string,
  apiServer: Pick<KubeApiServer, 'serverId' | 'url'>,
  { certificates, snapshotKeys, directory, flags: further = {} }: LiveRouterOptions,
  changes: Readonly<Record<string, readonly string[] | undefined>>,
): Promise<LiveRouter> {
  const port = await freePort();
  const flags = flagArguments({
    ...serveFlags({
      apiServer,
      certificates,
      snapshotKeys,
      snapshotFile: join(directory, `${name}.snapshot`),
      logger: silentLogger,
    }),
    'secure-port': [`${port}`],
    ...further,
    ...changes,
  });
  const origin = `https://127.0.0.1:${port}`;
  const start = async (): Promise<LoggedProcess> => {
    const started = await startLoggedProcess({
      name,
      command: globalThis.process.execPath,
      args: [commandModule, 'serve', '--v=2', ...flags],
      logFile: join(directory, `${name}.log`),
    });
    const before = started.log().split(origin).length;
    await waitUntil(`${name} listens`, () => {
      if (!started.isRunning()) throw new Error(endOfLog(started));
      return started.log().split(origin).length > before;
    });
    return started;
  };
  let process = await start();
  return {
    name,
    origin,
    port,
    flags,
    get process() {
      return process;
    },
    async restart() {
      process = await start();
    },
  };
}
