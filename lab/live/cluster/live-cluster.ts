import { readFile } from 'node:fs/promises';
import { writeKubeconfig } from '../../../demo/kubeconfig.ts';
import { credentialsOf, type TlsCredentials } from '../../../test/support/clients/tls-request.ts';
import type { ApiServerBinary, LiveAssets } from './assets.ts';
import type { LiveCertificates } from './certificates.ts';
import { startControlPlane } from './control-plane.ts';
import type { KubeApiServer } from './kube-apiserver.ts';
import {
  type LiveRouter,
  readingFlags,
  readingOf,
  startGateway,
  startSidecar,
  untilReady,
} from './routers.ts';
import { allowOperator, allowSyncJob } from './sync-rights.ts';
import { startTcpForwarder, type TcpForwarder } from './tcp-forwarder.ts';

const processGrace = 5000;

/**
 * A control plane of real servers in the middle of an upgrade, with a router in front of each, and a gateway. Each router
 * reads the cluster itself, which is the default; what a sync job pushes is tried by `npm run lab -- upgrade` and in e2e/.
 */
export interface LiveCluster {
  /** For kubectl's home and for files of the tests; removed with the cluster. */
  readonly directory: string;
  readonly certificates: LiveCertificates;
  /** `a`, of the oldest version; `b`, of the one in between or the oldest again; `c`, of the newest. */
  readonly servers: readonly [KubeApiServer, KubeApiServer, KubeApiServer];
  /** In front of `a`, `b` and `c`. */
  readonly sidecars: readonly [LiveRouter, LiveRouter, LiveRouter];
  readonly gateway: LiveRouter;
  /** Stand-ins for a load balancer in front of the routers, and for one in front of the bare API servers. */
  readonly forwarders: { readonly routers: TcpForwarder; readonly apiServers: TcpForwarder };
  /**
   * Contexts `router-a`, `gateway`, `routers` (the load balancer in front of the sidecars), `direct-a`, `bare` (the one
   * in front of the API servers), as the administrator, and the same behind `alice@`.
   */
  readonly kubeconfig: string;
  readonly admin: TlsCredentials;
  /** May do everything, by RBAC. */
  readonly operator: TlsCredentials;
  readonly newest: ApiServerBinary;
  readonly oldest: ApiServerBinary;
  /** The logs of everything, by the name of the process. */
  log(name: string): Promise<string>;
  close(): Promise<void>;
}

/** Starts everything; resolves once each router is ready. What was started is stopped when it cannot. */
export async function startLiveCluster({ etcd, apiServers }: LiveAssets): Promise<LiveCluster> {
  const oldest = apiServers[0];
  const newest = apiServers.at(-1) ?? oldest;
  const between = apiServers.length > 2 ? apiServers[1] : oldest;
  const controlPlane = await startControlPlane(etcd, [oldest, between, newest]);
  const { directory, path, certificates, admin, snapshotKeys, endWith, close } = controlPlane;
  try {
    const [a, b, c] = controlPlane.servers;
    if (a === undefined || b === undefined || c === undefined) throw new TypeError('there are three servers');
    const servers = [a, b, c] as const;
    await allowSyncJob(c.url, admin);
    await allowOperator(c.url, admin);

    const reading = await readingOf(controlPlane, a.url);
    const options = { certificates, snapshotKeys, directory, flags: readingFlags(reading) };
    const sidecars = [
      await startSidecar(a, options),
      await startSidecar(b, options),
      await startSidecar(c, options),
    ] as const;
    const gateway = await startGateway(options);
    const routers = [...sidecars, gateway];
    for (const { process } of routers) endWith(() => process.stop(processGrace));

    const forwarders = {
      routers: await startTcpForwarder(sidecars.map(({ port }) => ({ host: '127.0.0.1', port }))),
      apiServers: await startTcpForwarder(servers.map(({ address, port }) => ({ host: address, port }))),
    };
    endWith(() => Promise.all([forwarders.routers.close(), forwarders.apiServers.close()]));
    const kubeconfig = await writeKubeconfig(path('kubeconfig'), {
      servers: {
        ...Object.fromEntries(routers.map(({ name, origin }) => [name, origin])),
        ...Object.fromEntries(servers.map(({ name, url }) => [`direct-${name}`, url])),
        routers: `https://127.0.0.1:${forwarders.routers.port}`,
        bare: `https://127.0.0.1:${forwarders.apiServers.port}`,
      },
      certificateAuthority: certificates.clusterCa,
      users: { admin: certificates.admin, alice: certificates.alice },
    });
    await untilReady(routers, admin);
    return {
      directory,
      certificates,
      servers,
      sidecars,
      gateway,
      forwarders,
      kubeconfig,
      admin,
      operator: credentialsOf(certificates.clusterCa, certificates.operator),
      newest,
      oldest,
      log: (name) => readFile(path(`${name}.log`), 'utf8'),
      close,
    };
  } catch (cause) {
    await close();
    throw cause;
  }
}
