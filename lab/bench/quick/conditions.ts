import type { ThroughputResults, WorkloadResults } from '../throughput/results.ts';
import type { WorkloadName } from '../throughput/workloads.ts';

/**
 * How a quick run measures. What is compared has to come about in the same way: beside one rival a process rests for
 * two seconds between its passes, among nine contenders for more than ten, and a request costs more behind a rest.
 */
export const quickConditions = { passes: 6, warmUp: 0.5, seconds: 0.4 } as const;

export const quickWorkloads: readonly WorkloadName[] = ['http1-get', 'http2-get'];

/** Rounds of a comparison, of one with another revision, and of a recording, whose spread says how far ratios differ by themselves. */
export const quickRounds = { comparison: 2, against: 4, recording: 6 } as const;

/** Conditions that both runs must have in common, so that a difference is the router's. */
const decisive: readonly (readonly [string, (results: WorkloadResults) => string])[] = [
  ['passes', ({ passes }) => String(passes)],
  ['warm-up', ({ warmUp }) => `${warmUp} s`],
  ['length of a pass', ({ seconds }) => `${seconds} s`],
];

/** Conditions that may bear on a ratio without making it worthless. */
const worthKnowing: readonly (readonly [string, (results: WorkloadResults) => string])[] = [
  ['processor', ({ machine }) => `${machine.processor}, ${machine.cores} cores`],
  ['kernel', ({ machine }) => machine.kernel],
  ['Go', ({ versions }) => versions.go ?? 'none'],
];

/** In what the two runs differ, each difference in words. */
export interface Differences {
  /** With any of these there is nothing to compare. */
  readonly decisive: readonly string[];
  readonly worthKnowing: readonly string[];
}

/** Over the workloads that both runs have. */
export function differencesBetween(
  now: ThroughputResults['workloads'],
  recorded: ThroughputResults['workloads'],
): Differences {
  const pairs = quickWorkloads.flatMap((name) => {
    const [one, other] = [now[name], recorded[name]];
    return one === undefined || other === undefined ? [] : [[one, other] as const];
  });
  const found = (aspects: typeof decisive): readonly string[] => [
    ...new Set(
      pairs.flatMap(([one, other]) =>
        aspects
          .filter(([, read]) => read(one) !== read(other))
          .map(([aspect, read]) => `${aspect}: ${read(one)}, recorded ${read(other)}`),
      ),
    ),
  ];
  return { decisive: found(decisive), worthKnowing: found(worthKnowing) };
}
