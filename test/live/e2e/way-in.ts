import { type KubeconfigUser, writeKubeconfig } from '../../../demo/kubeconfig.ts';
import { waitUntil } from '../../../scripts/harness/wait-until.ts';
import type { ApiServerBinary, LiveAssets } from '../assets.ts';
import { type ControlPlane, startControlPlane } from '../control-plane.ts';
import { liveNetwork } from '../network.ts';
import { type LiveRouter, startGateway, startSidecar } from '../routers.ts';
import { startSyncJob } from '../sync-job.ts';
import { allowSyncJob, bindClusterAdmin } from '../sync-rights.ts';
import { startTcpForwarder } from '../tcp-forwarder.ts';
import { tlsRequest } from '../tls-request.ts';
import { assertionFlags, startEdgeInFront } from './edge-in-front.ts';

/**
 * The ways into a cluster that are compared. `server`: one server of the newest version, straight. `router`: a router
 * in front of it. The others lead to two servers of the oldest version and one of the newest: a load balancer in front
 * of three routers, a gateway, a Worker in front of three routers, and a load balancer in front of the servers.
 */
export const waysIn = ['server', 'router', 'routers', 'gateway', 'edge', 'balancer'] as const;
export type WayIn = (typeof waysIn)[number];

const processGrace = 5000;
const edgeAdmins = 'live-edge-admins';

export interface WayIntoCluster {
  readonly controlPlane: ControlPlane;
  readonly origin: string;
  /** Of an administrator, and of kube-controller-manager. */
  readonly kubeconfig: string;
  readonly controllerKubeconfig: string;
  readonly routers: readonly LiveRouter[];
}

export interface WayInOptions {
  /** Of `--preferred-version`. Default: the newest, which the tests are of. */
  readonly preferredVersion?: string;
  /** Of the servers. Default: by the way in. */
  readonly binaries?: readonly ApiServerBinary[];
  /** More flags of a server of this version. Default: none. */
  readonly serverFlags?: (binary: ApiServerBinary) => readonly string[];
}

/** Starts a cluster with this way in; closing the control plane ends all of it. */
export async function startWayIn(
  way: WayIn,
  { etcd, apiServers }: LiveAssets,
  { preferredVersion = 'newest', binaries, serverFlags }: WayInOptions = {},
): Promise<WayIntoCluster> {
  const oldest = apiServers[0];
  const newest = apiServers.at(-1) ?? oldest;
  const isMixed = way !== 'server' && way !== 'router';
  const controlPlane = await startControlPlane(
    etcd,
    binaries ?? (isMixed ? [oldest, oldest, newest] : [newest]),
    serverFlags,
  );
  try {
    return await openWayIn(way, controlPlane, preferredVersion);
  } catch (cause) {
    await controlPlane.close();
    throw cause;
  }
}

async function openWayIn(
  way: WayIn,
  controlPlane: ControlPlane,
  preferredVersion: string,
): Promise<WayIntoCluster> {
  const { certificates, path, servers, admin } = controlPlane;
  const newest = servers.at(-1);
  if (newest === undefined) throw new TypeError('there are servers');
  let routers: readonly LiveRouter[] = [];
  let origin = newest.url;
  let users: { readonly admin: KubeconfigUser; readonly controllers: KubeconfigUser } = {
    admin: certificates.admin,
    controllers: certificates.controllerManager,
  };
  if (way === 'balancer') {
    origin = await balance(
      controlPlane,
      servers.map(({ address, port }) => ({ host: address, port })),
    );
  } else if (way !== 'server') {
    await allowSyncJob(newest.url, admin);
    const options = {
      certificates,
      snapshotKeys: controlPlane.snapshotKeys,
      directory: controlPlane.directory,
      flags: {
        'preferred-version': [preferredVersion],
        ...(way === 'edge' ? await assertionFlags(controlPlane) : {}),
      },
    };
    routers =
      way === 'gateway'
        ? [await startGateway(options)]
        : await Promise.all(servers.map((server) => startSidecar(server, options)));
    for (const { process } of routers) controlPlane.endWith(() => process.stop(processGrace));
    await deliverSnapshots(controlPlane, routers);
    origin =
      way === 'routers'
        ? await balance(
            controlPlane,
            routers.map(({ port }) => ({ host: '127.0.0.1', port })),
          )
        : (routers[0]?.origin ?? '');
    if (way === 'edge') {
      const edge = await startEdgeInFront(controlPlane, routers, { PREFERRED_VERSION: preferredVersion });
      origin = edge.origin;
      // A token that names `system:masters` is refused.
      const group = { kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: edgeAdmins };
      await bindClusterAdmin(newest.url, admin, edgeAdmins, group);
      users = {
        admin: { ...certificates.admin, token: await edge.token('e2e-admin', [edgeAdmins]) },
        controllers: {
          ...certificates.controllerManager,
          token: await edge.token('controllers', [edgeAdmins]),
        },
      };
    }
  }
  const token = users.admin.token;
  await waitUntil(`the way in by ${way} is ready`, async () => {
    const headers = token === undefined ? undefined : { authorization: `Bearer ${token}` };
    const answer = await tlsRequest(`${origin}/api/v1/namespaces/default`, admin, headers && { headers });
    return answer.statusCode === 200;
  });
  const write = (name: string, user: KubeconfigUser) =>
    writeKubeconfig(path(name), {
      servers: { [way]: origin },
      certificateAuthority: certificates.clusterCa,
      users: { user },
    });
  return {
    controlPlane,
    origin,
    kubeconfig: await write('e2e.kubeconfig', users.admin),
    controllerKubeconfig: await write('controllers.kubeconfig', users.controllers),
    routers,
  };
}

async function balance(
  { endWith }: ControlPlane,
  destinations: readonly { readonly host: string; readonly port: number }[],
): Promise<string> {
  const forwarder = await startTcpForwarder(destinations);
  endWith(() => forwarder.close());
  return `https://127.0.0.1:${forwarder.port}`;
}

async function deliverSnapshots(controlPlane: ControlPlane, routers: readonly LiveRouter[]): Promise<void> {
  const { certificates, path, servers, admin, signingKey, directory, endWith } = controlPlane;
  const sync = await startSyncJob({
    certificates,
    signingKey,
    kubeconfig: await writeKubeconfig(path('sync.kubeconfig'), {
      servers: { cluster: servers[0]?.url ?? '' },
      certificateAuthority: certificates.clusterCa,
      users: { sync: certificates.sync },
    }),
    // In a network of their own they are found as in production: by their Leases and endpoints.
    servers: liveNetwork().isOwn ? [] : servers,
    routers,
    directory,
  });
  endWith(() => sync.stop(processGrace));
  for (const { name, origin } of routers) {
    await waitUntil(
      `${name} is ready`,
      async () => (await tlsRequest(`${origin}/readyz`, admin)).statusCode === 200,
    );
    await waitUntil(`${name} knows every server`, async () => {
      const { text } = await tlsRequest(`${origin}/.mixed-version-proxy/v1/status`, admin);
      const { servers: known } = JSON.parse(text) as { servers: { stale: boolean }[] };
      return known.length === servers.length && known.every(({ stale }) => !stale);
    });
  }
}
