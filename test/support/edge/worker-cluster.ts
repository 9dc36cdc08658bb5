import type { Miniflare } from '../../../scripts/runtimes/index.ts';
import { sealSnapshot } from '../../../src/snapshot/signing/seal.ts';
import { createEdgeCluster, type EdgeCluster } from './edge-cluster.ts';
import {
  type StartWorkersOptions,
  snapshotObject,
  startWorkers,
  type WorkerBindings,
  type WorkersByName,
  workerOf,
} from './worker-runtime.ts';

/** User that pushes snapshots: an administrator whose certificate the platform has verified. */
export const administrator = {
  cf: {
    tlsClientAuth: {
      certPresented: '1',
      certVerified: 'SUCCESS',
      certRevoked: '0',
      certSubjectDNRFC2253: 'CN=admin,O=system:masters',
    },
  },
};

/** `request.cf` of a caller whose certificate the platform has verified. */
export function verified(subject: string) {
  return { cf: { tlsClientAuth: { ...administrator.cf.tlsClientAuth, certSubjectDNRFC2253: subject } } };
}

/** Workers in front of the servers of a cluster, over mutual TLS, on real workerd. */
export interface WorkerCluster extends EdgeCluster {
  readonly miniflare: Miniflare;
  /** Lines that the Workers have logged. */
  readonly log: readonly string[];
  push(jws: string, worker?: string, path?: string): Promise<{ status: number; body: PushAnswer }>;
  pushGeneration(generation: number, worker?: string): Promise<{ status: number; body: PushAnswer }>;
  /** Ends the Workers and the API servers. */
  close(): Promise<void>;
}

interface PushAnswer {
  readonly result?: string;
  readonly persisted?: boolean;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: { readonly causes?: readonly { readonly reason: string; readonly field?: string }[] };
}

/**
 * @param changes what differs in the environment of the Worker `router`
 * @param workers further Workers by name, each with what it changes in the environment of the first
 */
export async function startWorkerCluster(
  changes: WorkerBindings | ((cluster: EdgeCluster) => WorkerBindings) = {},
  workers: WorkersByName = {},
  more: Pick<StartWorkersOptions, 'lacks'> = {},
): Promise<WorkerCluster> {
  const cluster = await createEdgeCluster();
  const { authority, frontProxyClient, local, syncKey } = cluster;
  const trustedCertificates = [authority.certificate];
  const keypair = { privateKey: frontProxyClient.privateKey, certificateChain: frontProxyClient.chain };
  const network = { type: 'network', allow: ['private'], tlsOptions: { trustedCertificates } };
  const environment: WorkerBindings = {
    SERVER_ID: 'local',
    LOCAL_SERVER: local.origin,
    ALLOW_LOOPBACK_PEERS: 'true',
    CLIENT_CERTIFICATES: 'cf',
    SNAPSHOT_KEYS: JSON.stringify({ keys: [syncKey.publicJwk] }),
    SNAPSHOT_OBJECT: snapshotObject,
    DESTINATIONS: network,
    PEER_MTLS: { type: 'network', allow: ['private'], tlsOptions: { trustedCertificates, keypair } },
    ...(typeof changes === 'function' ? changes(cluster) : changes),
  };
  const others = Object.entries(workers).map(([name, own]) => [name, { ...environment, ...own }]);
  const log: string[] = [];
  const all = { router: environment, ...Object.fromEntries(others) };
  const miniflare = await startWorkers(all, { log: (line) => log.push(line), network, ...more });

  async function push(jws: string, worker = 'router', path = 'snapshot') {
    const url = `http://${worker}/.mixed-version-proxy/v1/${path}`;
    const isolate = await workerOf(miniflare, worker);
    const response = await isolate.fetch(url, { method: 'PUT', body: jws, ...administrator });
    return { status: response.status, body: (await response.json()) as PushAnswer };
  }
  return {
    ...cluster,
    miniflare,
    log,
    push,
    async pushGeneration(generation, worker) {
      return push(await sealSnapshot(cluster.snapshot(generation), syncKey.key), worker);
    },
    async close() {
      await miniflare.dispose();
      await cluster.close();
    },
  };
}
