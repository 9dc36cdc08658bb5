import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generateKeyFiles, publicKeysFile, signingKeyFile } from '../../src/cli/commands/keygen.ts';
import type { RunningRouter } from '../../src/node/configuration/serve-config.ts';
import { aborted } from '../aborted.ts';
import { type CertificatePaths, type DemoCertificates, syncJobName } from '../certificates.ts';
import { type DemoServer, demoServers, startCluster } from '../cluster.ts';
import { type DemoControlPlane, withControlPlane } from '../control-plane.ts';
import type { ExampleApiServer } from '../example-api-server/index.ts';
import { writeKubeconfig } from '../kubeconfig.ts';
import { startDemoSync } from '../sync.ts';
import { untilReady } from '../until-ready.ts';
import type { EdgeTls, PemPair, RunningEdge } from './running-edge.ts';
import { startWorkerd } from './start-workerd.ts';
import { startTokenIssuer, type TokenIssuer } from './token-issuer.ts';

/** The name under which the edge signs, and that the routers have pinned its key for. */
const edgeName = 'edge';
const edgeKeysDirectory = 'edge-keys';

export interface EdgeDemoOptions {
  /** Where kubeconfigs, certificates and logs go: a new or empty directory, removed when the demo ends. */
  readonly directory: string;
  /** Default: those of `npm start`. */
  readonly servers?: readonly DemoServer[];
  /** Ends the demo. */
  readonly signal: AbortSignal;
  /** Called once the cluster can be used through the edge. */
  readonly onReady: (demo: RunningEdgeDemo) => void | Promise<void>;
}

export interface RunningEdgeDemo {
  /** Contexts `edge` (an administrator) and `alice@edge`. */
  readonly kubeconfig: string;
  readonly edge: RunningEdge;
  readonly apiServers: readonly ExampleApiServer[];
  /** One in front of each API server; the edge reaches no API server by itself. */
  readonly routers: readonly RunningRouter[];
  readonly certificates: DemoCertificates;
  readonly tokens: TokenIssuer;
}

/**
 * Runs the cluster of `runDemo` with a router on workerd in front of it: example API servers of two Kubernetes
 * versions, a Node router in front of each, and in front of those the Worker, which tells them by signed assertions
 * who calls. The sync job pushes the same snapshot to all of them. Resolves when `signal` aborts and everything has
 * stopped and been removed; rejects, with everything stopped, when it cannot start.
 */
export async function runEdgeDemo(options: EdgeDemoOptions): Promise<void> {
  const { directory, signal, onReady, servers = demoServers } = options;
  const startServers = (certificates: DemoCertificates) => startCluster(certificates, servers);
  const routerFlags = async (path: DemoControlPlane['path']) => ({
    'assertion-keys': [await makeAssertionKeys(path(edgeKeysDirectory))],
  });
  await withControlPlane({ directory, startServers, routerFlags }, async (controlPlane) => {
    const { path, certificates, apiServers, routers, endWith } = controlPlane;
    const tokens = await startTokenIssuer(certificates.router);
    endWith(() => tokens.close());
    const edge = await startDemoEdge(controlPlane, tokens);
    endWith(async () => {
      await edge.close();
      controlPlane.logger.info({ output: edge.output() }, 'The edge has ended');
    });

    const syncToken = await tokens.issue({ name: syncJobName, groups: [] });
    endWith(
      await startDemoSync({
        signingKey: controlPlane.keys.signing,
        // Clients of a snapshot reach a server through the router in front of it.
        servers: apiServers.map(({ serverId, url, name }, index) => ({
          id: serverId,
          url: routers[index]?.origin,
          readFrom: url,
          hostname: name,
        })),
        targets: [...routers, edge].map(({ origin }) => ({ url: origin })),
        certificates,
        bearerToken: async () => syncToken,
        logger: controlPlane.logger,
      }),
    );
    const kubeconfig = await writeEdgeKubeconfig(path('edge.kubeconfig'), edge, certificates, tokens);
    await untilReady([...routers, edge], certificates.clusterCa, signal, certificates.sync);
    if (!signal.aborted) await onReady({ kubeconfig, edge, apiServers, routers, certificates, tokens });
    await aborted(signal);
  });
}

async function startDemoEdge(
  { path, certificates, keys, apiServers, routers }: DemoControlPlane,
  tokens: TokenIssuer,
): Promise<RunningEdge> {
  await mkdir(path('edge'), { mode: 0o700 });
  return startWorkerd({
    directory: path('edge'),
    tls: await edgeTls(certificates),
    environment: {
      ...localServer(apiServers, routers),
      SNAPSHOT_KEYS: await readFile(keys.public, 'utf8'),
      ASSERTION_SIGNING_KEY: await readFile(join(path(edgeKeysDirectory), signingKeyFile), 'utf8'),
      ASSERTION_ISSUER: edgeName,
      ...tokens.variables,
      ALLOW_LOOPBACK_PEERS: 'true',
    },
  });
}

/** A server of the oldest version is the local one: what it does not serve shows the routing. */
function localServer(
  apiServers: readonly ExampleApiServer[],
  routers: readonly RunningRouter[],
): { readonly SERVER_ID: string; readonly LOCAL_SERVER: string } {
  const versions = apiServers.map(({ version }) => version);
  const oldest = versions.indexOf([...versions].sort()[0] ?? '1.35');
  const [apiServer, router] = [apiServers[oldest], routers[oldest]];
  if (apiServer === undefined || router === undefined) throw new TypeError('the demo has no servers');
  return { SERVER_ID: apiServer.serverId, LOCAL_SERVER: router.origin };
}

/** A key pair for the edge. @returns the file by which routers believe it */
async function makeAssertionKeys(directory: string): Promise<string> {
  await generateKeyFiles(directory, 'EdDSA');
  const { keys } = JSON.parse(await readFile(join(directory, publicKeysFile), 'utf8')) as { keys: object[] };
  const publicFile = join(directory, 'routers.json');
  await writeFile(publicFile, JSON.stringify({ keys: keys.map((key) => ({ ...key, issuer: edgeName })) }));
  return publicFile;
}

/**
 * Connections need a certificate of the cluster's authority; who calls, the token says (docs/guides/edge.md).
 */
async function edgeTls(certificates: DemoCertificates): Promise<EdgeTls> {
  const clusterAuthority = await readFile(certificates.clusterCa, 'utf8');
  return {
    serving: await readPair(certificates.router),
    clientAuthorities: clusterAuthority,
    destinationAuthorities: clusterAuthority,
  };
}

async function readPair({ certificate, privateKey }: CertificatePaths): Promise<PemPair> {
  return {
    certificate: await readFile(certificate, 'utf8'),
    privateKey: await readFile(privateKey, 'utf8'),
  };
}

// No group 'system:masters': a token with such a name is refused, and the demo's servers allow everything to
// everyone they know.
async function writeEdgeKubeconfig(
  file: string,
  edge: RunningEdge,
  { admin, alice, clusterCa }: DemoCertificates,
  tokens: TokenIssuer,
): Promise<string> {
  return writeKubeconfig(file, {
    servers: { edge: edge.origin },
    certificateAuthority: clusterCa,
    users: {
      admin: {
        ...admin,
        token: await tokens.issue({ name: 'kubernetes-admin', groups: ['cluster-admins'] }),
      },
      alice: { ...alice, token: await tokens.issue({ name: 'alice', groups: ['dev', 'qa'] }) },
    },
  });
}
