import { setTimeout as sleep } from 'node:timers/promises';
import { startLoad } from '../clients/load.ts';
import { startExperimentCluster } from '../cluster/experiment-cluster.ts';
import { Findings } from '../record/findings.ts';
import { ChangeTimes, doubledWrites, missedEvents, untilCaughtUp } from '../record/outcome.ts';
import { isFault } from '../record/verdict.ts';
import { SeededRandom } from '../seeded-random.ts';
import { type KilledSetUp, type KillOutcome, type VictimName, victimNames } from './kill-results.ts';
import { killRound } from './kill-round.ts';

export interface KillRun {
  readonly setUp: KilledSetUp;
  readonly rounds: number;
  readonly seed: number;
  readonly tell: (line: string) => void;
  /** Keep logs and state. */
  readonly keepDirectory?: boolean;
}

/** What only the old version serves is on two of the servers, so that it can be served when any one is gone. */
const versions = ['1.25', '1.25', '1.26'] as const;

/** Milliseconds of undisturbed load before the first kill and after the last. */
const steady = 3_000;
/** Milliseconds that watches may take to come back after the last round. */
const catchingUp = 20_000;

/** Rounds of SIGKILL under load. */
export async function runKills(run: KillRun): Promise<KillOutcome> {
  const { setUp, rounds, tell } = run;
  const random = new SeededRandom(run.seed);
  const findings = new Findings();
  const cluster = await startExperimentCluster({
    setUp,
    versions,
    keepDirectory: run.keepDirectory ?? false,
  });
  if (run.keepDirectory === true) tell(`logs are in ${cluster.directory}`);
  try {
    const { store, access } = cluster;
    const times = new ChangeTimes(store);
    const begun = performance.now();
    const seconds = (at: number): number => Math.round((at - begun) / 100) / 10;
    const load = startLoad({ ...access, findings }, { random: random.fork(), revision: store.revision });
    const kills = Object.fromEntries(victimNames.map((name) => [name, 0])) as Record<VictimName, number>;
    await sleep(steady);
    for (let round = 1; round <= rounds; round += 1) {
      kills[await killRound(cluster, random)] += 1;
      if (round % 20 === 0) tell(`${seconds(performance.now())} s: ${round} rounds`);
    }
    await sleep(steady);
    await load.stopAsking();
    await untilCaughtUp(store, load.watchers, catchingUp);
    const missed = missedEvents(store, load.watchers);
    await load.stopWatching();
    times.stop();
    return {
      rounds,
      kills,
      seconds: seconds(performance.now()),
      requests: findings.requests,
      created: load.created(),
      watchRestarts: load.watchers.reduce((sum, { restarts }) => sum + restarts, 0),
      longestEventDelay: Math.round(times.longestDelay(load.watchers)),
      lostEvents: missed.length,
      doubledWrites: doubledWrites(store).length,
      findings: findings.counts(),
      details: findings.all
        .filter(({ name }) => isFault(name))
        .slice(0, 40)
        .map(({ name, at, detail }) => `${seconds(at)} s ${name}: ${detail}`),
    };
  } finally {
    await cluster.close();
  }
}
