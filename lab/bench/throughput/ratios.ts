import { type Spread, spreadOf } from '../../harness/statistics.ts';
import type { ContenderName } from '../rivals/contender.ts';
import type { ThroughputFigures, ThroughputRound } from './results.ts';

/** Picks a figure; `undefined` where the workload has none. */
export type FigurePick = (figures: ThroughputFigures) => number | undefined;

export const cpuTime: FigurePick = ({ cpuTimePerRequest }) => cpuTimePerRequest;

/** CPU time of the best pass: others on the machine can make a pass slower, not faster. */
export const leastCpuTime: FigurePick = ({ leastCpuTimePerRequest }) => leastCpuTimePerRequest;

/** Over the rounds in which the contender was measured. */
export function spreadOver(
  rounds: readonly ThroughputRound[],
  name: ContenderName,
  pick: FigurePick,
): Spread | undefined {
  return spreadOf(rounds.map(({ contenders }) => figureOf(contenders[name], pick)));
}

/**
 * A contender's figure in units of another's. Each ratio is taken within one round, where both had the machine in
 * about the same state; what drifts from round to round falls out.
 */
export function ratioOver(
  rounds: readonly ThroughputRound[],
  name: ContenderName,
  reference: ContenderName,
  pick: FigurePick,
): Spread | undefined {
  return spreadOf(
    rounds.map(({ contenders }) => figureOf(contenders[name], pick) / figureOf(contenders[reference], pick)),
  );
}

/** The part that a contender adds to the figure without any proxy, within each round. */
export function addedOver(
  rounds: readonly ThroughputRound[],
  name: ContenderName,
  pick: FigurePick,
): Spread | undefined {
  return spreadOf(
    rounds.map(({ contenders }) => figureOf(contenders[name], pick) - figureOf(contenders.direct, pick)),
  );
}

function figureOf(figures: ThroughputFigures | undefined, pick: FigurePick): number {
  return (figures && pick(figures)) ?? Number.NaN;
}
