import type { Miniflare } from 'miniflare';
import { sealSnapshot } from '../../src/snapshot/seal.ts';
import type { Snapshot } from '../../src/snapshot/types.ts';
import { type Speaker, speaker } from './assertions.ts';
import { createAuthority } from './certificates.ts';
import { type EdgeDestination, startDestination } from './edge-destination.ts';
import { snapshotOf } from './snapshot-builder.ts';
import {
  replayObject,
  type StartWorkersOptions,
  snapshotObject,
  startWorkers,
  type WorkerBindings,
  type WorkersByName,
  workerOf,
} from './worker-runtime.ts';

const jobs = {
  resource: 'jobs',
  responseKind: { group: '', version: '', kind: 'Job' },
  scope: 'Namespaced',
  singularResource: 'job',
  verbs: ['get', 'list'],
} as const;

/** Who pushes snapshots: an administrator whose certificate the platform has verified. */
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

/** A Worker in front of two API servers of different versions, over mutual TLS. */
export interface EdgeCluster {
  readonly miniflare: Miniflare;
  readonly local: EdgeDestination;
  readonly peer: EdgeDestination;
  readonly syncKey: Speaker;
  /** What the Workers have logged. */
  readonly log: readonly string[];
  /** Pods are the local server's, jobs the peer's. */
  snapshot(generation: number, changes?: Parameters<typeof snapshotOf>[1]): Snapshot;
  push(jws: string, worker?: string, path?: string): Promise<{ status: number; body: PushAnswer }>;
  pushGeneration(generation: number, worker?: string): Promise<{ status: number; body: PushAnswer }>;
  close(): Promise<void>;
}

export interface PushAnswer {
  readonly result?: string;
  readonly persisted?: boolean;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: { readonly causes?: readonly { readonly reason: string; readonly field?: string }[] };
}

/** What there is before the Worker is. */
export type EdgeParts = Pick<EdgeCluster, 'local' | 'peer' | 'syncKey'>;

/** @param workers further Workers by name, each with what it changes in the environment of the first */
export async function startEdgeCluster(
  changes: WorkerBindings | ((parts: EdgeParts) => WorkerBindings) = {},
  workers: WorkersByName = {},
  more: Pick<StartWorkersOptions, 'lacks'> = {},
): Promise<EdgeCluster> {
  const authority = await createAuthority('edge-test');
  const serving = await authority.issue({
    commonName: 'localhost',
    dnsNames: ['localhost'],
    usage: 'server',
  });
  const frontProxy = await authority.issue({ commonName: 'front-proxy-client', usage: 'client' });
  const local = await startDestination('local', serving, authority.certificate);
  const peer = await startDestination('peer', serving, authority.certificate);
  const syncKey = await speaker('sync');
  const trustedCertificates = [authority.certificate];
  const keypair = { privateKey: frontProxy.privateKey, certificateChain: frontProxy.certificate };
  const network = { type: 'network', allow: ['private'], tlsOptions: { trustedCertificates } };
  const environment: WorkerBindings = {
    SERVER_ID: 'local',
    LOCAL_SERVER: local.origin,
    ALLOW_LOOPBACK_PEERS: 'true',
    CLIENT_CERTIFICATES: 'cf',
    SNAPSHOT_KEYS: JSON.stringify({ keys: [syncKey.publicJwk] }),
    SNAPSHOT_OBJECT: snapshotObject,
    REPLAY_OBJECT: replayObject,
    DESTINATIONS: network,
    PEER_MTLS: { type: 'network', allow: ['private'], tlsOptions: { trustedCertificates, keypair } },
    ...(typeof changes === 'function' ? changes({ local, peer, syncKey }) : changes),
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
  const snapshot: EdgeCluster['snapshot'] = (generation, changed = {}) =>
    snapshotOf(
      {
        local: { serves: ['v1/pods'], address: new URL(local.origin).host, discovery: [] },
        peer: {
          serves: ['v1/pods', 'batch/v1/jobs'],
          address: new URL(peer.origin).host,
          discovery: [{ metadata: { name: 'batch' }, versions: [{ version: 'v1', resources: [jobs] }] }],
        },
      },
      { generation, createdAt: new Date().toISOString(), ...changed },
    );
  return {
    miniflare,
    local,
    peer,
    syncKey,
    log,
    snapshot,
    push,
    async pushGeneration(generation, worker) {
      return push(await sealSnapshot(snapshot(generation), syncKey.key), worker);
    },
    async close() {
      await miniflare.dispose();
      await local.close();
      await peer.close();
    },
  };
}
