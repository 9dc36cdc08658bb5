import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { syncJobName } from '../../../demo/certificates.ts';
import { startWorkerd } from '../../../demo/edge/start-workerd.ts';
import { startTokenIssuer } from '../../../demo/edge/token-issuer.ts';
import { type KubeconfigUser, writeKubeconfig } from '../../../demo/kubeconfig.ts';
import { startDemoSync } from '../../../demo/sync.ts';
import { generateKeyFiles, publicKeysFile, signingKeyFile } from '../../../src/cli/commands/keygen.ts';
import { silentLogger } from '../../../src/runtime/logger.ts';
import { tlsRequest } from '../../../test/support/clients/tls-request.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import type { ApiServerBinary, LiveAssets } from '../cluster/assets.ts';
import { type ControlPlane, startControlPlane } from '../cluster/control-plane.ts';
import { type LiveRouter, readingOf, startGateway, startSidecar, untilReady } from '../cluster/routers.ts';
import { startSyncJob } from '../cluster/sync-job.ts';
import { allowSyncJob, bindClusterAdmin } from '../cluster/sync-rights.ts';
import { startTcpForwarder } from '../cluster/tcp-forwarder.ts';

const edgeName = 'edge';
const keysDirectory = 'edge-keys';

/** Makes the key that the edge signs with. @returns flags of the routers that are to believe it */
async function assertionFlags({ path }: ControlPlane): Promise<Record<string, readonly string[]>> {
  await generateKeyFiles(path(keysDirectory), 'EdDSA');
  const { keys } = JSON.parse(await readFile(join(path(keysDirectory), publicKeysFile), 'utf8')) as {
    keys: object[];
  };
  const file = join(path(keysDirectory), 'routers.json');
  await writeFile(file, JSON.stringify({ keys: keys.map((key) => ({ ...key, issuer: edgeName })) }));
  return { 'assertion-keys': [file] };
}

interface EdgeInFront {
  readonly origin: string;
  /** A token of a user that the edge verifies and the routers believe it for. */
  token(name: string, groups: readonly string[]): Promise<string>;
}

/**
 * Starts a Worker on workerd in front of the routers (docs/guides/edge.md): it reaches no API server by
 * itself. What it cannot check, service account tokens among it, passes through.
 */
async function startEdgeInFront(
  { certificates, path, servers, signingKey, snapshotKeys, endWith }: ControlPlane,
  routers: readonly LiveRouter[],
  variables: Readonly<Record<string, string>>,
): Promise<EdgeInFront> {
  const tokens = await startTokenIssuer(certificates.router);
  endWith(() => tokens.close());
  await mkdir(path('edge'));
  const clusterAuthority = await readFile(certificates.clusterCa, 'utf8');
  const [server] = servers;
  const [router] = routers;
  if (server === undefined || router === undefined) throw new TypeError('there are no routers');
  const edge = await startWorkerd({
    directory: path('edge'),
    tls: {
      serving: {
        certificate: await readFile(certificates.router.certificate, 'utf8'),
        privateKey: await readFile(certificates.router.privateKey, 'utf8'),
      },
      destinationAuthorities: clusterAuthority,
    },
    environment: {
      SERVER_ID: server.serverId,
      LOCAL_SERVER: router.origin,
      SNAPSHOT_KEYS: await readFile(snapshotKeys, 'utf8'),
      ASSERTION_SIGNING_KEY: await readFile(join(path(keysDirectory), signingKeyFile), 'utf8'),
      ASSERTION_ISSUER: edgeName,
      ...tokens.variables,
      ALLOW_LOOPBACK_PEERS: 'true',
      ...variables,
    },
  });
  endWith(async () => {
    await edge.close();
    await writeFile(path('edge.log'), edge.output());
  });
  const syncToken = await tokens.issue({ name: syncJobName, groups: [] });
  endWith(
    await startDemoSync({
      signingKey,
      // Clients of this snapshot reach a server through the router in front of it.
      servers: servers.map(({ serverId, url }, index) => ({
        id: serverId,
        url: routers[index]?.origin,
        readFrom: url,
      })),
      targets: [{ url: edge.origin }],
      certificates,
      bearerToken: async () => syncToken,
      logger: silentLogger,
    }),
  );
  return { origin: edge.origin, token: (name, groups) => tokens.issue({ name, groups }) };
}

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
  /** Kubeconfigs of an administrator, and of kube-controller-manager. */
  readonly kubeconfig: string;
  readonly controllerKubeconfig: string;
  readonly routers: readonly LiveRouter[];
}

export interface WayInOptions {
  /** Value of `--preferred-version`. Default: the newest, which the tests are of. */
  readonly preferredVersion?: string;
  /** Binaries of the servers. Default: by the way in. */
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
  let users: Users = {
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
      users = await usersOfEdge(controlPlane, edge, newest.url);
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

interface Users {
  readonly admin: KubeconfigUser;
  readonly controllers: KubeconfigUser;
}

async function usersOfEdge(
  { certificates, admin }: ControlPlane,
  edge: Awaited<ReturnType<typeof startEdgeInFront>>,
  server: string,
): Promise<Users> {
  // A token that names `system:masters` is refused.
  const group = { kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: edgeAdmins };
  await bindClusterAdmin(server, admin, edgeAdmins, group);
  return {
    admin: { ...certificates.admin, token: await edge.token('e2e-admin', [edgeAdmins]) },
    controllers: {
      ...certificates.controllerManager,
      token: await edge.token('controllers', [edgeAdmins]),
    },
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
  const { servers, admin, endWith } = controlPlane;
  const reading = await readingOf(controlPlane, servers[0]?.url ?? '');
  const sync = await startSyncJob({ ...controlPlane, ...reading, routers });
  endWith(() => sync.stop(processGrace));
  await untilReady(routers, admin, { servers: servers.length });
}
