import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { Agent, request } from 'undici';
import type { EdgeTls, PemPair, RunningEdge, StartEdge } from '../../../scripts/edge/running-edge.ts';
import { sealSnapshot } from '../../../src/snapshot/seal.ts';
import {
  type GeneratedSigningKey,
  generateSigningKey,
  signingKeyOf,
} from '../../../src/snapshot/signing-key.ts';
import { type ApiServerDouble, startApiServer } from '../api-server-double.ts';
import { type Authority, type CertificatePair, createAuthority } from '../certificates.ts';
import { type OidcProvider, oidcProvider } from '../oidc-provider.ts';
import { snapshotOf } from '../snapshot-builder.ts';
import { type TokenSigner, tokenSigner } from '../token-signer.ts';

/** A cluster for a router on an edge runtime: two API servers, an issuer of tokens, and who may sign what. */
export interface EdgeCluster {
  readonly authority: Authority;
  /** Signs front proxies; the API servers accept it and `authority`. */
  readonly frontProxyAuthority: Authority;
  /** A client that may connect. */
  readonly client: CertificatePair;
  /** CN=front-proxy-client. */
  readonly frontProxyClient: CertificatePair;
  readonly serving: CertificatePair;
  readonly local: ApiServerDouble;
  /** Serves `batch/v1` `jobs`, which `local` does not. */
  readonly peer: ApiServerDouble;
  readonly snapshotKey: GeneratedSigningKey;
  /** Variables of a router in front of `local`, callers known by tokens. */
  readonly environment: Readonly<Record<string, string>>;
  /** A bearer token for the user, good for an hour. */
  token(user: string, groups?: readonly string[]): Promise<string>;
  /** A sealed snapshot in which both servers are. */
  snapshot(generation: number): Promise<string>;
  /** A new empty directory, removed at the end of the test. */
  directory(): Promise<string>;
}

const audience = 'edge-under-test';

export async function edgeCluster(context: TestContext): Promise<EdgeCluster> {
  const authority = await createAuthority('cluster-ca');
  const frontProxyAuthority = await createAuthority('front-proxy-ca');
  const serving = await authority.issue({
    commonName: 'server',
    dnsNames: ['localhost'],
    ipAddresses: ['127.0.0.1'],
    usage: 'server',
  });
  const tls = { pair: serving, clientAuthorities: frontProxyAuthority.certificate };
  const local = await startApiServer(context, 'http/1.1', tls);
  const peer = await startApiServer(context, 'http/1.1', tls);
  const signer = await tokenSigner();
  const provider = await oidcProvider(context, authority, signer);
  const snapshotKey = await generateSigningKey('EdDSA');
  return {
    authority,
    frontProxyAuthority,
    serving,
    client: await authority.issue({
      commonName: 'somebody',
      organizations: ['system:masters'],
      usage: 'client',
    }),
    frontProxyClient: await frontProxyAuthority.issue({ commonName: 'front-proxy-client', usage: 'client' }),
    local,
    peer,
    snapshotKey,
    environment: {
      SERVER_ID: 'local',
      LOCAL_SERVER: `https://127.0.0.1:${local.port}`,
      SNAPSHOT_KEYS: JSON.stringify({ keys: [snapshotKey.publicJwk] }),
      AUTHENTICATION_CONFIG: authenticationConfiguration(provider),
      ALLOWED_USERS: JSON.stringify(['sync']),
      ALLOW_LOOPBACK_PEERS: 'true',
    },
    token: (user, groups = []) => bearerToken(signer, provider, user, groups),
    snapshot: (generation) =>
      sealSnapshot(
        snapshotOf(
          {
            local: { serves: ['v1/pods'], url: `https://127.0.0.1:${local.port}` },
            peer: { serves: ['v1/pods', 'batch/v1/jobs'], url: `https://127.0.0.1:${peer.port}` },
          },
          { generation },
        ),
        signingKeyOf(snapshotKey.privateJwk),
      ),
    async directory() {
      const directory = await mkdtemp(join(tmpdir(), 'mixed-version-proxy-edge-'));
      context.after(() => rm(directory, { recursive: true, force: true }));
      return directory;
    },
  };
}

function authenticationConfiguration({ issuer }: OidcProvider): string {
  return JSON.stringify({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AuthenticationConfiguration',
    jwt: [
      {
        issuer: { url: issuer, audiences: [audience] },
        claimMappings: {
          username: { claim: 'sub', prefix: '' },
          groups: { claim: 'groups', prefix: '' },
        },
      },
    ],
  });
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

/** What the edge is given: both ends of TLS. `mutual` also demands certificates of clients. */
export function edgeTlsOf(cluster: EdgeCluster, mutual: boolean): EdgeTls {
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

/** Starts a router, which ends with the test at the latest. */
export async function startEdge(
  context: TestContext,
  start: StartEdge,
  options: Parameters<StartEdge>[0],
): Promise<RunningEdge> {
  const edge = await start(options);
  context.after(() => edge.close());
  return edge;
}

export interface EdgeAnswer {
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
  cluster: EdgeCluster,
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
  cluster: EdgeCluster,
  generation: number,
): Promise<EdgeAnswer> {
  return askEdge(edge, cluster, '/.mixed-version-proxy/v1/snapshot', {
    method: 'PUT',
    headers: {
      'content-type': 'application/jose',
      authorization: `Bearer ${await cluster.token('sync')}`,
    },
    body: await cluster.snapshot(generation),
  });
}
