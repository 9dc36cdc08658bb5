import { setTimeout as sleep } from 'node:timers/promises';
import type { KubernetesVersionName } from '../../../demo/example-api-server/index.ts';
import type { ExperimentCluster } from '../cluster/experiment-cluster.ts';

/** Milliseconds between the steps. */
export interface UpgradePace {
  /** Before the first server and after the last. */
  readonly steady: number;
  /** How long a node's server is gone. */
  readonly down: number;
  /** Between two nodes. */
  readonly between: number;
}

/** How servers end: told to (SIGTERM), or without a word (SIGKILL), as with the power of a node. */
export const serverEnds = ['drained', 'killed'] as const;
type ServerEnd = (typeof serverEnds)[number];

export interface UpgradeStep {
  readonly title: string;
  /** Milliseconds of `performance`. */
  readonly at: number;
}

export interface RollingUpgrade {
  readonly to: KubernetesVersionName;
  readonly serverEnd: ServerEnd;
  readonly pace: UpgradePace;
}

/** Replaces one server after the other, and behind it the router that belongs to the node, which drains. */
export async function rollingUpgrade(
  cluster: ExperimentCluster,
  { to, serverEnd, pace }: RollingUpgrade,
  onStep: (step: UpgradeStep) => void,
): Promise<void> {
  const step = (title: string): void => onStep({ title, at: performance.now() });
  await sleep(pace.steady);
  for (const [index, server] of cluster.servers.entries()) {
    step(`server ${index + 1} stops`);
    await (serverEnd === 'killed' ? server.kill() : server.stop());
    await sleep(pace.down);
    await server.start(to);
    step(`server ${index + 1} is ${to}`);
    await sleep(pace.between / 2);
    const router = cluster.routers[index];
    if (router !== undefined) {
      step(`router ${index + 1} restarts`);
      await router.stop();
      await router.start();
      await router.ready();
    }
    await sleep(pace.between / 2);
  }
  await sleep(pace.steady);
}
