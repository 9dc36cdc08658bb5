import { compareServerVersions } from '../src/apimachinery/server-version.ts';
import type { RunningRouter } from '../src/node/configuration/serve-config.ts';
import { aborted } from './aborted.ts';
import type { DemoCertificates } from './certificates.ts';
import { type DemoServer, demoServers, startCluster } from './cluster.ts';
import { type DemoApiServer, type DemoControlPlane, withControlPlane } from './control-plane.ts';
import type { ExampleApiServer } from './example-api-server/index.ts';
import { writeKubeconfig } from './kubeconfig.ts';
import { startDemoSync } from './sync.ts';
import { untilReady } from './until-ready.ts';

export interface DemoOptions {
  /** Where kubeconfigs, certificates and the log go: a new or empty directory, removed when the demo ends. */
  readonly directory: string;
  /** Default: three, one of which is upgraded. */
  readonly servers?: readonly DemoServer[];
  /** Further flags of `serve`, for every router. */
  readonly routerFlags?: Readonly<Record<string, readonly string[]>>;
  /** Ends the demo. */
  readonly signal: AbortSignal;
  /** Called once the cluster can be used through every router. */
  readonly onReady: (demo: RunningDemo) => void | Promise<void>;
}

export interface RunningDemo<Server extends DemoApiServer = ExampleApiServer> {
  /** One context a router, named after the API server behind it. The current one leads to a server of the oldest version. */
  readonly kubeconfig: string;
  /** The same for the API servers themselves. */
  readonly directKubeconfig: string;
  readonly apiServers: readonly Server[];
  readonly routers: readonly RunningRouter[];
  readonly certificates: DemoCertificates;
}

/**
 * Runs a cluster in the middle of an upgrade, on loopback: example API servers of two Kubernetes versions
 * over one store, a router in front of each, and the sync job. Resolves when `signal` aborts and everything
 * has stopped and been removed; rejects, with everything stopped, when it cannot start.
 */
export async function runDemo(options: DemoOptions): Promise<void> {
  const { directory, signal, onReady, routerFlags = {}, servers = demoServers } = options;
  const startServers = (certificates: DemoCertificates) => startCluster(certificates, servers);
  await withDemo({ directory, startServers, routerFlags, signal }, async (demo) => {
    await onReady(demo);
    await aborted(signal);
  });
}

interface WithDemoOptions<Server extends DemoApiServer> extends Pick<DemoOptions, 'directory' | 'signal'> {
  readonly startServers: (certificates: DemoCertificates) => Promise<readonly Server[]>;
  readonly routerFlags?: DemoOptions['routerFlags'];
}

/** Uses API servers with a router in front of each, the sync job, and kubeconfigs for both; then ends everything. */
export async function withDemo<Server extends DemoApiServer>(
  { directory, startServers, routerFlags = {}, signal }: WithDemoOptions<Server>,
  use: (demo: RunningDemo<Server>, controlPlane: DemoControlPlane<Server>) => Promise<void>,
): Promise<void> {
  // Brought to the other routers by the sync job: each knows where all of them are.
  const given: NonNullable<DemoOptions['routerFlags']> = {
    'advertise-address': ['127.0.0.1'],
    ...routerFlags,
  };
  // A flag without a value is one that the routers are not given.
  const flags = Object.fromEntries(Object.entries(given).filter(([, flagValues]) => flagValues.length > 0));
  const options = { directory, startServers, routerFlags: async () => flags };
  await withControlPlane(options, async (controlPlane) => {
    const { path, certificates, apiServers, routers } = controlPlane;
    controlPlane.endWith(
      await startDemoSync({
        signingKey: controlPlane.keys.signing,
        servers: apiServers.map(({ serverId, url, name }) => ({ id: serverId, url, hostname: name })),
        targets: routers.map(({ origin }) => ({ url: origin })),
        certificates,
        logger: controlPlane.logger,
      }),
    );
    const [oldest] = apiServers.toSorted((one, other) => compareServerVersions(one.version, other.version));
    const users = { admin: certificates.admin, alice: certificates.alice };
    const kubeconfigFor = (file: string, origins: readonly string[]) =>
      writeKubeconfig(path(file), {
        certificateAuthority: certificates.clusterCa,
        users,
        current: oldest?.name,
        servers: Object.fromEntries(apiServers.map(({ name }, index) => [name, origins[index] ?? ''])),
      });
    const demo: RunningDemo<Server> = {
      kubeconfig: await kubeconfigFor(
        'kubeconfig',
        routers.map(({ origin }) => origin),
      ),
      directKubeconfig: await kubeconfigFor(
        'direct.kubeconfig',
        apiServers.map(({ url }) => url),
      ),
      apiServers,
      routers,
      certificates,
    };
    await untilReady(routers, certificates.clusterCa, signal);
    if (!signal.aborted) await use(demo, controlPlane);
  });
}
