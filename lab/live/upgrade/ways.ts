import { Agent } from 'node:https';
import type { ApiServerBinary } from '../cluster/assets.ts';
import type { LiveCertificates } from '../cluster/certificates.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import {
  type LiveRouter,
  readingFlags,
  readingOf,
  startGateway,
  startSidecar,
  untilReady,
} from '../cluster/routers.ts';
import { startSyncJob } from '../cluster/sync-job.ts';
import { allowSyncJob } from '../cluster/sync-rights.ts';
import { startTcpForwarder } from '../cluster/tcp-forwarder.ts';
import { type OneVersionBalancer, startOneVersionBalancer } from './one-version-balancer.ts';
import type { UpgradeStep } from './steps.ts';

const processGrace = 5_000;

/**
 * Forms of what stands in front of the servers. `embedded`: routers that read the cluster themselves, one in front of
 * each server and a gateway, and beside them a TCP load balancer. `one-version-balancer`: the same, and HAProxy that
 * shows clients one version. `pushed`: routers that a sync job pushes to. `in-tree`: nothing but that load balancer,
 * and servers with Kubernetes' own peer proxy.
 */
export const forms = ['embedded', 'one-version-balancer', 'pushed', 'in-tree'] as const;
export type Form = (typeof forms)[number];

type RoutedWay = 'routers' | 'gateway' | 'pushed';

/** True if a router stands in this way: then there are to be no faults. */
export function isRouted(name: Way['name']): name is RoutedWay {
  return name === 'routers' || name === 'gateway' || name === 'pushed';
}

/** Origins that are to be one way into the cluster. */
export interface Way {
  readonly name: RoutedWay | 'straight' | 'in-tree' | 'one-version' | 'by-version';
  readonly origins: readonly string[];
  /** Absent where a connection decides which server responds. */
  readonly agent?: Agent;
}

export interface Ways {
  readonly ways: readonly Way[];
  readonly routers: readonly LiveRouter[];
  /** Has to be led through the steps of the upgrade. */
  readonly balancer?: OneVersionBalancer | undefined;
}

export async function openWays(
  form: Form,
  controlPlane: ControlPlane,
  steps: readonly UpgradeStep[],
): Promise<Ways> {
  const { certificates, servers, admin, endWith, directory, snapshotKeys } = controlPlane;
  const balancer = await startTcpForwarder(servers.map(({ address, port }) => ({ host: address, port })));
  endWith(() => balancer.close());
  const behindBalancer = [`https://127.0.0.1:${balancer.port}`];
  if (form === 'in-tree') return { ways: [{ name: 'in-tree', origins: behindBalancer }], routers: [] };

  await allowSyncJob(servers[0]?.url ?? '', admin);
  const reading = await readingOf(controlPlane, behindBalancer[0] ?? '');
  const options = {
    certificates,
    directory,
    snapshotKeys,
    ...(form === 'pushed' ? {} : { flags: readingFlags(reading) }),
  };
  const sidecars = await Promise.all(servers.map((server) => startSidecar(server, options)));
  const gateway = form === 'pushed' ? undefined : await startGateway(options);
  const routers = gateway === undefined ? sidecars : [...sidecars, gateway];
  for (const router of routers) endWith(() => router.process.stop(processGrace));
  if (form === 'pushed') {
    const sync = await startSyncJob({ ...controlPlane, ...reading, routers });
    endWith(() => sync.stop(processGrace));
  }
  await untilReady(routers, admin, { servers: servers.length });
  const way = (name: Way['name'], ...origins: string[]): Way => {
    const agent = new Agent({ keepAlive: true });
    endWith(async () => agent.destroy());
    return { name, origins, agent };
  };
  const switched =
    form === 'one-version-balancer' ? await startOneVersionBalancer(controlPlane, steps) : undefined;
  return {
    ways: [
      way(form === 'pushed' ? 'pushed' : 'routers', ...routers.map(({ origin }) => origin)),
      ...(gateway === undefined
        ? []
        : [way('gateway', gateway.origin), { name: 'straight', origins: behindBalancer } as const]),
      ...(switched === undefined
        ? []
        : [way('one-version', switched.oneVersion), way('by-version', switched.byVersion)]),
    ],
    routers,
    balancer: switched,
  };
}

/** Flags of a server whose own peer proxy takes part (pkg/features/kube_features.go; before 1.33 by StorageVersions). */
export function inTreeFlags(
  { minor }: Pick<ApiServerBinary, 'minor'>,
  { clusterCa }: Pick<LiveCertificates, 'clusterCa'>,
): readonly string[] {
  const needed = ['UnknownVersionInteroperabilityProxy', ...(minor < 33 ? ['StorageVersionAPI'] : [])];
  return [
    `--feature-gates=${needed.map((gate) => `${gate}=true`).join(',')}`,
    ...(minor < 33 ? ['--runtime-config=internal.apiserver.k8s.io/v1alpha1=true'] : []),
    `--peer-ca-file=${clusterCa}`,
  ];
}
