import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeKubeconfig } from '../../demo/kubeconfig.ts';
import { freePort } from '../../scripts/harness/free-port.ts';
import { waitUntil } from '../../scripts/harness/wait-until.ts';
import { generateKeyFiles, publicKeysFile, signingKeyFile } from '../../src/cli/commands/keygen.ts';
import { serverIdsOf } from '../../src/sync/cluster/server-id.ts';
import type { ApiServerBinary, LiveAssets } from './assets.ts';
import { createLiveCertificates, type LiveCertificates } from './certificates.ts';
import { startEtcd } from './etcd.ts';
import { createKubeApiServer, type KubeApiServer } from './kube-apiserver.ts';
import type { LoggedProcess } from './logged-process.ts';
import { liveNetwork } from './network.ts';
import { type LiveRouter, startGateway, startSidecar } from './routers.ts';
import { startSyncJob } from './sync-job.ts';
import { allowOperator, allowSyncJob } from './sync-rights.ts';
import { startTcpForwarder, type TcpForwarder } from './tcp-forwarder.ts';
import { credentialsOf, type TlsCredentials, tlsRequest } from './tls-request.ts';
import { versionSkewFlags } from './version-skew.ts';

const processGrace = 5000;

/** A control plane of real servers in the middle of an upgrade, with a router in front of each, and a gateway. */
export interface LiveCluster {
  /** For kubectl's home and for files of the tests; removed with the cluster. */
  readonly directory: string;
  readonly certificates: LiveCertificates;
  /** `a`, of the oldest version; `b`, of the one in between or the oldest again; `c`, of the newest. */
  readonly servers: readonly [KubeApiServer, KubeApiServer, KubeApiServer];
  /** In front of `a`, `b` and `c`. */
  readonly sidecars: readonly [LiveRouter, LiveRouter, LiveRouter];
  readonly gateway: LiveRouter;
  /** What a load balancer in front of the routers, and one in front of the bare API servers, would be. */
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
export async function startLiveCluster({ etcd: etcdPath, apiServers }: LiveAssets): Promise<LiveCluster> {
  const directory = await mkdtemp(join(tmpdir(), 'mixed-version-proxy-live-'));
  const ending: (() => Promise<unknown>)[] = [() => rm(directory, { recursive: true, force: true })];
  const endWith = (process: LoggedProcess) => ending.unshift(() => process.stop(processGrace));
  const close = async () => {
    for (const end of ending.splice(0)) await end();
  };
  try {
    const path = (name: string) => join(directory, name);
    await mkdir(path('home'));
    const { isOwn, addresses } = liveNetwork();
    const hostNameOf = (name: string) => `live-${name}`;
    const certificates = await createLiveCertificates(
      path('pki'),
      ['a', 'b', 'c'].map((name, index) => ({ hostName: hostNameOf(name), address: addresses[index] ?? '' })),
    );
    await generateKeyFiles(path('keys'), 'EdDSA');
    const admin = credentialsOf(certificates.clusterCa, certificates.admin);
    const etcd = await startEtcd(etcdPath, directory);
    endWith(etcd.process);

    const oldest = apiServers[0];
    const newest = apiServers.at(-1) ?? oldest;
    const between = apiServers.length > 2 ? apiServers[1] : oldest;
    const create = async (name: string, index: 0 | 1 | 2, binary: ApiServerBinary) => {
      const address = addresses[index];
      const hostName = hostNameOf(name);
      const [idOfHost = ''] = await serverIdsOf(hostName);
      return createKubeApiServer(
        {
          name,
          hostName,
          serverId: isOwn ? idOfHost : `apiserver-${hostName}`,
          address,
          servingCertificate: certificates.apiServers[index] ?? certificates.apiServer,
          hasEndpoint: isOwn,
          // The endpoints of default/kubernetes have one port for all.
          port: isOwn ? 6443 : await freePort(address),
          etcdUrl: etcd.url,
          certificates,
          logFile: path(`kube-apiserver-${name}.log`),
          credentials: admin,
          flagsFor: (used) => versionSkewFlags(used, apiServers),
        },
        binary,
      );
    };
    const servers = [
      await create('a', 0, oldest),
      await create('b', 1, between),
      await create('c', 2, newest),
    ] as const;
    // One after the other, as installers do it: each finds the system namespaces that the one before has made.
    for (const server of servers) {
      ending.unshift(() => server.stop());
      await server.launch(server.binary());
      await server.untilReady();
    }
    const [a, b, c] = servers;
    await allowSyncJob(c.url, admin);
    await allowOperator(c.url, admin);

    const options = { certificates, snapshotKeys: join(path('keys'), publicKeysFile), directory };
    const sidecars = [
      await startSidecar(a, options),
      await startSidecar(b, options),
      await startSidecar(c, options),
    ] as const;
    const gateway = await startGateway(options);
    const routers = [...sidecars, gateway];
    for (const { process } of routers) endWith(process);
    const sync = await startSyncJob({
      certificates,
      signingKey: join(path('keys'), signingKeyFile),
      kubeconfig: await writeKubeconfig(path('sync.kubeconfig'), {
        servers: { cluster: a.url },
        certificateAuthority: certificates.clusterCa,
        users: { sync: certificates.sync },
      }),
      // In a network of their own they are found as in production: by their Leases and endpoints.
      servers: isOwn ? [] : servers,
      routers,
      directory,
    });
    endWith(sync);

    const forwarders = {
      routers: await startTcpForwarder(sidecars.map(({ port }) => ({ host: '127.0.0.1', port }))),
      apiServers: await startTcpForwarder(servers.map(({ address, port }) => ({ host: address, port }))),
    };
    ending.unshift(
      () => forwarders.routers.close(),
      () => forwarders.apiServers.close(),
    );
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
    for (const { name, origin } of routers) {
      await waitUntil(
        `${name} is ready`,
        async () => (await tlsRequest(`${origin}/readyz`, admin)).statusCode === 200,
      );
    }
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
