import type { Snapshot } from '../../src/snapshot/format/schema.ts';
import { type OidcProvider, openOidcProvider } from '../support/api-servers/oidc-provider.ts';
import { localId, mixedClusterAt } from '../support/clusters/decision-rows.ts';
import { freePort } from '../support/free-port.ts';
import { snapshotOf } from '../support/snapshots/snapshot-builder.ts';
import { oidcSigner, serverPair } from './credentials.ts';
import { type Peer, type RunningPeer, startPeer } from './peers.ts';

/** The servers behind a router: those of the decision list, and some that fail. */
export interface Cluster {
  readonly local: Peer;
  /** Speaks HTTP/1.1 only. Serves `jobs`, as `peer2` does, and alone `pods/resize`. */
  readonly peer1: Peer;
  readonly peer2: Peer;
  /** Alone serves `poddisruptionbudgets`. */
  readonly peer3: Peer;
  /** An extension API server. */
  readonly metricsServer: Peer;
  /** Both serve `horizontalpodautoscalers`, and nobody else does. */
  readonly failing: readonly [Peer, Peer];
  readonly all: readonly Peer[];
  /** Publishes the keys of the OIDC issuer. */
  readonly oidcProvider: OidcProvider;
  /** Where nobody listens: the only server of `leases`. */
  readonly deadAddress: string;
  readonly addresses: Readonly<Record<string, string>>;
  /** Every server forgets what it got and answers as at first. */
  reset(): void;
  close(): Promise<void>;
}

/** Targets that tell the servers apart. */
export const targets = {
  local: '/api/v1/namespaces/default/pods',
  peer: '/apis/batch/v1/namespaces/default/jobs',
  peer1: '/api/v1/namespaces/default/pods/web/resize',
  peer3: '/apis/policy/v1/namespaces/default/poddisruptionbudgets',
  failing: '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers',
  dead: '/apis/coordination.k8s.io/v1/namespaces/default/leases',
  withoutAddress: '/apis/node.k8s.io/v1/runtimeclasses',
} as const;

export async function startCluster(): Promise<Cluster> {
  const running: RunningPeer[] = [];
  const start = async (...[id, protocols]: Parameters<typeof startPeer>): Promise<Peer> => {
    const started = await startPeer(id, protocols);
    running.push(started);
    return started.peer;
  };
  const local = await start(localId, 'h2 and http/1.1');
  const peer1 = await start('peer-1', 'http/1.1');
  const peer2 = await start('peer-2', 'h2 and http/1.1');
  const peer3 = await start('peer-3', 'h2 and http/1.1');
  const metricsServer = await start('metrics-server', 'h2 and http/1.1');
  const failing = [await start('failing-1', 'http/1.1'), await start('failing-2', 'http/1.1')] as const;
  const all = running.map(({ peer }) => peer);
  const oidcProvider = await openOidcProvider(serverPair, oidcSigner);
  const deadAddress = `127.0.0.1:${await freePort()}`;
  return {
    local,
    peer1,
    peer2,
    peer3,
    metricsServer,
    failing,
    all,
    oidcProvider,
    deadAddress,
    addresses: Object.fromEntries(all.map(({ id, port }) => [id, `127.0.0.1:${port}`])),
    reset() {
      for (const peer of all) peer.reset();
    },
    async close() {
      await Promise.all([...running, oidcProvider].map((each) => each.close()));
    },
  };
}

/** The whole cluster as a snapshot. */
export function clusterSnapshot(cluster: Cluster, metadata: Partial<Snapshot['metadata']> = {}): Snapshot {
  const { addresses, deadAddress } = cluster;
  const mixed = mixedClusterAt(addresses);
  const failing = snapshotOf({
    'failing-1': {
      serves: ['autoscaling/v2/horizontalpodautoscalers'],
      ...addressOf(addresses, 'failing-1'),
    },
    'failing-2': {
      serves: ['autoscaling/v2/horizontalpodautoscalers'],
      ...addressOf(addresses, 'failing-2'),
    },
    dead: { serves: ['coordination.k8s.io/v1/leases'], address: deadAddress },
  });
  return {
    ...mixed,
    metadata: { ...mixed.metadata, ...metadata },
    servers: [...mixed.servers, ...failing.servers],
    servedSets: { ...mixed.servedSets, ...failing.servedSets },
  };
}

/**
 * The local server has 1.31, two peers and one that is dead have 1.36. `leases` differ by schema, and are also the dead
 * server's; `pods` are the same everywhere.
 */
export function severalVersionsSnapshot(
  cluster: Cluster,
  metadata: Partial<Snapshot['metadata']> = {},
): Snapshot {
  const { addresses, deadAddress } = cluster;
  const digests = (minor: string) => ({
    'core.pods': { v1: btoa('the same') },
    'autoscaling.horizontalpodautoscalers': { v2: btoa(`min ${minor}`) },
    'coordination.k8s.io.leases': { v1: btoa(`min ${minor}`) },
  });
  const of = (minor: string, ...more: readonly string[]) => ({
    serves: ['v1/pods', ...more],
    version: `v${minor}.0`,
    schemas: digests(minor),
  });
  const differing = 'autoscaling/v2/horizontalpodautoscalers';
  const leases = 'coordination.k8s.io/v1/leases';
  return snapshotOf(
    {
      [localId]: {
        ...of('1.31', differing, leases),
        ...addressOf(addresses, localId),
      },
      'peer-2': { ...of('1.36', differing), ...addressOf(addresses, 'peer-2') },
      'peer-3': { ...of('1.36', differing), ...addressOf(addresses, 'peer-3') },
      dead: { ...of('1.36', leases), address: deadAddress },
    },
    metadata,
  );
}

function addressOf(addresses: Cluster['addresses'], id: string): { readonly address?: string } {
  const address = addresses[id];
  return address === undefined ? {} : { address };
}

/** Every server answers 404, as API servers do for what they do not serve. */
export function answerNotFound(cluster: Cluster): void {
  for (const peer of cluster.all) {
    peer.script = (_request, answer) => {
      answer.head(404, ['Content-Type', 'text/plain; charset=utf-8']);
      answer.end('404 page not found\n');
    };
  }
}
