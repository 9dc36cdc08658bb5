import type { TestContext } from 'node:test';
import { Agent, request } from 'undici';
import type { EdgeTls, PemPair, RunningEdge } from '../../../demo/edge/running-edge.ts';
import { type StartWorkerdOptions, startWorkerd } from '../../../demo/edge/start-workerd.ts';
import { sealSnapshot } from '../../../src/snapshot/signing/seal.ts';
import { type OidcProvider, oidcProvider } from '../api-servers/oidc-provider.ts';
import type { CertificatePair } from '../certificates.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { type TokenSigner, tokenSigner } from '../token-signer.ts';
import { createEdgeCluster, type EdgeCluster } from './edge-cluster.ts';

/** The cluster of a router in a process of its own, whose callers are known by tokens. */
interface EdgeProcessCluster extends EdgeCluster {
  /** A client that may connect. */
  readonly client: CertificatePair;
  /** Variables of a router in front of `local`. */
  readonly environment: Readonly<Record<string, string>>;
  /** A bearer token for the user, good for an hour. */
  token(user: string, groups?: readonly string[]): Promise<string>;
  /** A new empty directory, removed at the end of the test. */
  directory(): Promise<string>;
}

const audience = 'edge-under-test';

/** Ends with the test. */
export async function edgeProcessCluster(context: TestContext): Promise<EdgeProcessCluster> {
  const cluster = await createEdgeCluster();
  context.after(() => cluster.close());
  const { authority, local, syncKey } = cluster;
  const signer = await tokenSigner();
  const provider = await oidcProvider(context, authority, signer);
  return {
    ...cluster,
    client: await authority.issue({
      commonName: 'somebody',
      organizations: ['system:masters'],
      usage: 'client',
    }),
    environment: {
      SERVER_ID: 'local',
      LOCAL_SERVER: local.origin,
      SNAPSHOT_KEYS: JSON.stringify({ keys: [syncKey.publicJwk] }),
      TOKEN_ISSUER: provider.issuer,
      TOKEN_AUDIENCE: audience,
      TOKEN_JWKS_URL: provider.keysUrl,
      TOKEN_GROUPS_CLAIM: 'groups',
      ALLOW_LOOPBACK_PEERS: 'true',
    },
    token: (user, groups = []) => bearerToken(signer, provider, user, groups),
    directory: () => temporaryDirectory(context),
  };
}

function bearerToken(
  signer: TokenSigner,
  { issuer }: OidcProvider,
  sub: string,
  groups: readonly string[],
): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  return signer.sign({ iss: issuer, aud: audience, sub, groups, iat: now, exp: now + 3600 });
}

/** TLS settings of the edge: both ends. `mutual` also demands certificates of clients. */
export function edgeTlsOf(cluster: EdgeProcessCluster, mutual: boolean): EdgeTls {
  return {
    serving: pemPair(cluster.serving),
    clientAuthorities: mutual ? cluster.authority.certificate : undefined,
    destinationAuthorities: cluster.authority.certificate,
    frontProxyClient: pemPair(cluster.frontProxyClient),
  };
}

function pemPair({ chain, privateKey }: CertificatePair): PemPair {
  return { certificate: chain, privateKey };
}

/**
 * Starts a router, which ends with the test at the latest.
 *
 * @param changes Default: a new directory, no client certificates demanded, the cluster's environment
 */
export async function startEdge(
  context: TestContext,
  cluster: EdgeProcessCluster,
  changes: Partial<StartWorkerdOptions> = {},
): Promise<RunningEdge> {
  const edge = await startWorkerd({
    directory: changes.directory ?? (await cluster.directory()),
    tls: edgeTlsOf(cluster, false),
    environment: cluster.environment,
    ...changes,
  });
  context.after(() => edge.close());
  return edge;
}

interface EdgeAnswer {
  readonly status: number;
  readonly text: string;
}

export interface AskOptions {
  readonly method?: 'GET' | 'PUT';
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string;
  /** Presented to the edge. Default: the cluster's `client`; `null` for none. */
  readonly client?: CertificatePair | null;
}

/** Asks a router on a connection of its own. */
export async function askEdge(
  { origin }: RunningEdge,
  cluster: EdgeProcessCluster,
  target: string,
  options: AskOptions = {},
): Promise<EdgeAnswer> {
  const { method = 'GET', headers = {}, body = null, client = cluster.client } = options;
  const dispatcher = new Agent({
    allowH2: false,
    connect: {
      ca: cluster.authority.certificate,
      ...(client === null ? {} : { cert: client.chain, key: client.privateKey }),
    },
  });
  try {
    const answer = await request(`${origin}${target}`, { dispatcher, method, headers, body });
    return { status: answer.statusCode, text: await answer.body.text() };
  } finally {
    await dispatcher.destroy();
  }
}

/** Pushes a snapshot as the sync job does it. */
export async function pushSnapshot(
  edge: RunningEdge,
  cluster: EdgeProcessCluster,
  generation: number,
): Promise<EdgeAnswer> {
  return askEdge(edge, cluster, '/.mixed-version-proxy/v1/snapshot', {
    method: 'PUT',
    headers: {
      'content-type': 'application/jose',
      authorization: `Bearer ${await cluster.token('sync')}`,
    },
    body: await sealSnapshot(cluster.snapshot(generation), cluster.syncKey.key),
  });
}
