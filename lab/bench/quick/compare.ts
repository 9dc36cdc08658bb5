import type { Spread } from '../../harness/statistics.ts';
import { leastCpuTime, ratioOver } from '../throughput/ratios.ts';
import type { ThroughputResults } from '../throughput/results.ts';
import type { WorkloadName } from '../throughput/workloads.ts';

/** The change of the router's CPU time for a request in its best pass, in units of Go's proxy, since it was last recorded. */
export interface Comparison {
  readonly workload: WorkloadName;
  readonly now: Spread;
  readonly recorded: Spread;
  /** Ratios from `from` to `to` cannot be told from the recorded ones. */
  readonly band: { readonly from: number; readonly to: number };
  readonly verdict: 'slower' | 'faster' | 'unchanged';
}

/** Share by which the band is wider than what was recorded: a short run is noisier than the recorded one. */
const allowance = 0.05;

/**
 * Compares where both runs have the workload with both.
 * @returns none for a workload that was not recorded.
 */
export function compareWithRecorded(
  now: ThroughputResults['workloads'],
  recorded: ThroughputResults['workloads'],
  workloads: readonly WorkloadName[],
): Comparison[] {
  return workloads.flatMap((workload): Comparison[] => {
    const ratios = [now, recorded].map((results) => {
      const rounds = results[workload]?.rounds;
      return rounds && ratioOver(rounds, 'router', 'go', leastCpuTime);
    });
    const [nowRatio, recordedRatio] = ratios;
    if (nowRatio === undefined || recordedRatio === undefined) return [];
    const band = {
      from: recordedRatio.minimum * (1 - allowance),
      to: recordedRatio.maximum * (1 + allowance),
    };
    return [{ workload, now: nowRatio, recorded: recordedRatio, band, verdict: verdictOf(nowRatio, band) }];
  });
}

/** Meanings of a ratio, beside those that are no change. */
export function verdictOf({ median }: Spread, { from, to }: Comparison['band']): Comparison['verdict'] {
  if (median > to) return 'slower';
  return median < from ? 'faster' : 'unchanged';
}
