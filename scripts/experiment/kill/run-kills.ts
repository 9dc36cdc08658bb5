import { setTimeout as sleep } from 'node:timers/promises';
import { detailsOf, underLoad } from '../record/under-load.ts';
import { isFault } from '../record/verdict.ts';
import { SeededRandom } from '../seeded-random.ts';
import { type KilledSetUp, type KillOutcome, type VictimName, victimNames } from './kill-results.ts';
import { killRound } from './kill-round.ts';

interface KillRun {
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

/** Rounds of SIGKILL under load. */
export async function runKills({ rounds, seed, tell, ...run }: KillRun): Promise<KillOutcome> {
  const random = new SeededRandom(seed);
  const kills = Object.fromEntries(victimNames.map((name) => [name, 0])) as Record<VictimName, number>;
  const outcome = await underLoad(
    { ...run, versions, tell, random: random.fork() },
    async (cluster, seconds) => {
      await sleep(steady);
      for (let round = 1; round <= rounds; round += 1) {
        kills[await killRound(cluster, random)] += 1;
        if (round % 20 === 0) tell(`${seconds(performance.now())} s: ${round} rounds`);
      }
      await sleep(steady);
    },
  );
  const faults = outcome.findings.filter(({ name }) => isFault(name));
  return { rounds, kills, ...outcome.counts, details: detailsOf(faults, outcome) };
}
