import type { KubernetesVersionName } from '../../example-api-server/index.ts';
import { startLoad } from '../clients/load.ts';
import { startExperimentCluster } from '../cluster/experiment-cluster.ts';
import type { SetUpName } from '../cluster/set-ups.ts';
import { Findings } from '../record/findings.ts';
import { ChangeTimes, doubledWrites, missedEvents, untilCaughtUp } from '../record/outcome.ts';
import { SeededRandom } from '../seeded-random.ts';
import { type RollingUpgrade, rollingUpgrade, type UpgradeStep } from './rolling-upgrade.ts';
import type { SetUpOutcome } from './upgrade-results.ts';

export interface UpgradeRun extends RollingUpgrade {
  readonly setUp: SetUpName;
  readonly from: KubernetesVersionName;
  readonly seed: number;
  /** Told of what happens as it happens. */
  readonly tell: (line: string) => void;
  readonly keepDirectory?: boolean;
}

/** Milliseconds that watches may take to come back after the last step. */
const catchingUp = 20_000;

/** One whole upgrade of a fresh cluster under load. */
export async function runSetUp(run: UpgradeRun): Promise<SetUpOutcome> {
  const { setUp, from, tell } = run;
  const random = new SeededRandom(run.seed);
  const findings = new Findings();
  const cluster = await startExperimentCluster({
    setUp,
    versions: [from, from, from],
    keepDirectory: run.keepDirectory ?? false,
  });
  if (run.keepDirectory === true) tell(`logs are in ${cluster.directory}`);
  try {
    const { store, access } = cluster;
    const times = new ChangeTimes(store);
    const begun = performance.now();
    const load = startLoad({ ...access, findings }, { random, revision: store.revision });
    const steps: UpgradeStep[] = [];
    await rollingUpgrade(cluster, run, (step) => {
      steps.push(step);
      tell(`${((step.at - begun) / 1000).toFixed(1).padStart(6)} s  ${step.title}`);
    });
    await load.stopAsking();
    await untilCaughtUp(store, load.watchers, catchingUp);
    const missed = missedEvents(store, load.watchers);
    const doubled = doubledWrites(store);
    await load.stopWatching();
    times.stop();
    for (const { watcher, event } of missed.slice(0, 10)) {
      tell(`lost: ${watcher.resource.collection} ${event.type} ${event.object.metadata.name}`);
    }
    const seconds = (at: number): number => Math.round((at - begun) / 100) / 10;
    return {
      seconds: seconds(performance.now()),
      requests: findings.requests,
      created: load.created(),
      watchRestarts: load.watchers.reduce((sum, { restarts }) => sum + restarts, 0),
      longestEventDelay: Math.round(times.longestDelay(load.watchers)),
      lostEvents: missed.length,
      doubledWrites: doubled.length,
      findings: findings.counts(),
      timeline: findings.all.map(({ name, at }) => ({ name, at: seconds(at) })),
      details: findings.all.slice(0, 40).map(({ name, at, detail }) => `${seconds(at)} s ${name}: ${detail}`),
      steps: steps.map(({ title, at }) => ({ title, at: seconds(at) })),
    };
  } finally {
    await cluster.close();
  }
}
