import type { RunningRouter } from '../src/node/configuration/serve-config.ts';
import { aborted } from './aborted.ts';
import type { DemoCertificates } from './certificates.ts';
import { startCluster } from './cluster.ts';
import { withControlPlane } from './control-plane.ts';
import type { ExampleApiServer } from './example-api-server/index.ts';
import { writeKubeconfig } from './kubeconfig.ts';
import { startDemoSync } from './sync.ts';
import { untilReady } from './until-ready.ts';

export interface DemoOptions {
  /** Where kubeconfigs, certificates and the log go: a new or empty directory, removed when the demo ends. */
  readonly directory: string;
  /** Further flags of `serve`, for every router. */
  readonly routerFlags?: Readonly<Record<string, readonly string[]>>;
  /** Ends the demo. */
  readonly signal: AbortSignal;
  /** Called once the cluster can be used through every router. */
  readonly onReady: (demo: RunningDemo) => void | Promise<void>;
}

export interface RunningDemo {
  /** One context a router, named after the version of the API server behind it. */
  readonly kubeconfig: string;
  /** The same for the API servers themselves. */
  readonly directKubeconfig: string;
  readonly apiServers: readonly ExampleApiServer[];
  readonly routers: readonly RunningRouter[];
  readonly certificates: DemoCertificates;
}

/**
 * Runs a cluster in the middle of an upgrade, on loopback: example API servers of three Kubernetes versions
 * over one store, a router in front of each, and the sync job. Resolves when `signal` aborts and everything
 * has stopped and been removed; rejects, with everything stopped, when it cannot start.
 */
export async function runDemo({ directory, signal, onReady, routerFlags = {} }: DemoOptions): Promise<void> {
  // Brought to the other routers by the sync job: each shows all of them.
  const flags = { 'advertise-address': ['127.0.0.1'], ...routerFlags };
  const options = { directory, startServers: startCluster, routerFlags: async () => flags };
  await withControlPlane(options, async (controlPlane) => {
    const { path, certificates, apiServers, routers } = controlPlane;
    controlPlane.endWith(
      await startDemoSync({
        signingKey: controlPlane.keys.signing,
        servers: apiServers.map(({ serverId, url, version }) => ({
          id: serverId,
          url,
          hostname: `control-plane-${version}`,
        })),
        targets: routers.map(({ origin }) => ({ url: origin })),
        certificates,
        logger: controlPlane.logger,
      }),
    );

    const users = { admin: certificates.admin, alice: certificates.alice };
    const shared = { certificateAuthority: certificates.clusterCa, users };
    const demo: RunningDemo = {
      kubeconfig: await writeKubeconfig(path('kubeconfig'), {
        ...shared,
        servers: contexts(apiServers, (_, index) => routers[index]?.origin ?? ''),
      }),
      directKubeconfig: await writeKubeconfig(path('direct.kubeconfig'), {
        ...shared,
        servers: contexts(apiServers, (server) => server.url),
      }),
      apiServers,
      routers,
      certificates,
    };
    await untilReady(routers, certificates.clusterCa, signal);
    if (!signal.aborted) await onReady(demo);
    await aborted(signal);
  });
}

function contexts(
  apiServers: readonly ExampleApiServer[],
  originOf: (server: ExampleApiServer, index: number) => string,
): Record<string, string> {
  return Object.fromEntries(
    apiServers.map((server, index) => [`v${server.version}`, originOf(server, index)]),
  );
}
