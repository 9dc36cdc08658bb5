import { setTimeout as sleep } from 'node:timers/promises';
import type { ExperimentCluster } from '../cluster/experiment-cluster.ts';
import type { SeededRandom } from '../seeded-random.ts';
import type { VictimName } from './kill-results.ts';

/** Milliseconds before a kill, and until what was killed is started again. */
const before: readonly [number, number] = [100, 900];
const gone: readonly [number, number] = [50, 800];

/** Kills one process without a word, at a random moment, and brings it back. */
export async function killRound(cluster: ExperimentCluster, random: SeededRandom): Promise<VictimName> {
  const { servers, routers, syncJob } = cluster;
  const victim = random.pick<VictimName>(['router', 'router', 'syncJob', 'server', 'server']);
  await sleep(random.between(...before));
  if (victim === 'router') {
    const router = random.pick(routers);
    await router.kill();
    await sleep(random.between(...gone));
    await router.start();
    await router.ready();
  } else if (victim === 'server') {
    const server = random.pick(servers);
    const { version } = server;
    await server.kill();
    await sleep(random.between(...gone));
    if (version !== undefined) await server.start(version);
  } else {
    await syncJob?.kill();
    await sleep(random.between(...gone));
    await syncJob?.start();
  }
  return victim;
}
