import { withCleanup } from '../../harness/cleanup.ts';
import { openBench } from '../open-bench.ts';
import type { Contender, ContenderName } from '../rivals/contender.ts';
import { measureRound } from './measure-round.ts';
import type { ThroughputResults, ThroughputRound, WorkloadResults } from './results.ts';
import { type WorkloadName, workloads } from './workloads.ts';

interface ThroughputOptions {
  readonly workloads: readonly WorkloadName[];
  readonly contenders: readonly ContenderName[];
  /** Measured besides. */
  readonly also?: readonly Contender[];
  readonly rounds: number;
  /** How often each contender is measured with each workload in each round. */
  readonly passes: number;
  /** Seconds of load before anything counts, in each pass. */
  readonly warmUp: number;
  /** Seconds of load in each pass, after its warm-up. */
  readonly seconds: number;
}

/** Measures; nothing is left running or written afterwards. */
export function runThroughput(options: ThroughputOptions): Promise<ThroughputResults['workloads']> {
  return withCleanup(async (cleanup) => {
    const { passes, warmUp, seconds } = options;
    const { bench, entrants, measurement } = await openBench(options.contenders, cleanup, options.also);
    const asked = workloads.filter(({ name }) => options.workloads.includes(name));
    const rounds: ReadonlyMap<WorkloadName, ThroughputRound>[] = [];
    for (let round = 0; round < options.rounds; round++) {
      console.log(`Round ${round + 1} of ${options.rounds}`);
      const reversed = round % 2 === 1;
      rounds.push(
        await measureRound(bench, { entrants, workloads: asked, reversed, passes, warmUp, seconds }),
      );
    }
    return Object.fromEntries(
      asked.map(({ name }): [WorkloadName, WorkloadResults] => [
        name,
        {
          ...measurement,
          passes,
          warmUp,
          seconds,
          rounds: rounds.flatMap((round) => round.get(name) ?? []),
        },
      ]),
    );
  });
}
