import type { KubernetesVersionName } from '../../../demo/example-api-server/index.ts';
import { startLoad } from '../clients/load.ts';
import { type ExperimentCluster, startExperimentCluster } from '../cluster/experiment-cluster.ts';
import type { SetUpName } from '../cluster/set-ups.ts';
import type { SeededRandom } from '../seeded-random.ts';
import type { Counts } from './counts.ts';
import { type Finding, Findings } from './findings.ts';
import { ChangeTimes, doubledWrites, type MissedEvent, missedEvents, untilCaughtUp } from './outcome.ts';

interface LoadedRun {
  readonly setUp: SetUpName;
  /** Of the servers, at the beginning. */
  readonly versions: readonly KubernetesVersionName[];
  /** What the clients draw from. */
  readonly random: SeededRandom;
  /** Told of what happens as it happens. */
  readonly tell: (line: string) => void;
  /** Keep logs and state. */
  readonly keepDirectory?: boolean | undefined;
  /** As in `ClientOptions`. */
  readonly settling?: number | undefined;
}

interface LoadedOutcome {
  readonly counts: Counts;
  readonly findings: readonly Finding[];
  readonly missed: readonly MissedEvent[];
  /** A moment of `performance` in seconds since the load began. */
  seconds(at: number): number;
}

/** Milliseconds that watches may take to come back after the last of what is done to the cluster. */
const catchingUp = 20_000;

/** Does something to a fresh cluster under load, and counts what its clients got to feel. */
export async function underLoad(
  { setUp, versions, random, tell, keepDirectory = false, settling }: LoadedRun,
  work: (cluster: ExperimentCluster, seconds: LoadedOutcome['seconds']) => Promise<void>,
): Promise<LoadedOutcome> {
  const findings = new Findings();
  const cluster = await startExperimentCluster({ setUp, versions, keepDirectory });
  if (keepDirectory) tell(`logs are in ${cluster.directory}`);
  try {
    const { store, access } = cluster;
    const times = new ChangeTimes(store);
    const begun = performance.now();
    const seconds = (at: number): number => Math.round((at - begun) / 100) / 10;
    const load = startLoad({ ...access, findings, settling }, { random, revision: store.revision });
    await work(cluster, seconds);
    await load.stopAsking();
    await untilCaughtUp(store, load.watchers, catchingUp);
    const missed = missedEvents(store, load.watchers);
    await load.stopWatching();
    times.stop();
    return {
      counts: {
        seconds: seconds(performance.now()),
        requests: findings.requests,
        created: load.created(),
        watchRestarts: load.watchers.reduce((sum, { restarts }) => sum + restarts, 0),
        longestEventDelay: Math.round(times.longestDelay(load.watchers)),
        lostEvents: missed.length,
        doubledWrites: doubledWrites(store).length,
        findings: findings.counts(),
      },
      findings: findings.all,
      missed,
      seconds,
    };
  } finally {
    await cluster.close();
  }
}

/** How many findings are told in words. */
const toldInWords = 40;

/** The first of them, a line each. */
export function detailsOf(findings: readonly Finding[], { seconds }: LoadedOutcome): string[] {
  return findings.slice(0, toldInWords).map(({ name, at, detail }) => `${seconds(at)} s ${name}: ${detail}`);
}
