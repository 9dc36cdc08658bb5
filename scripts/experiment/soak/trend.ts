import type { Sample } from './soak-results.ts';

/** Share of the run that is warm-up: connections, code caches and heaps grow to their size. */
const warmUp = 0.3;

/** How much more than at the beginning there may be at the end, behind the warm-up, to count as flat. */
const allowedGrowth = 0.05;

interface Trend {
  /** Mean after the warm-up. */
  readonly mean: number;
  /** Growth from the end of the warm-up to the end of the run by the fitted line, as a share of the mean. */
  readonly growth: number;
}

/** A straight line through what was measured after the warm-up (least squares). */
export function trendOf(samples: readonly Sample[], what: 'resident' | 'heap' | 'sockets'): Trend {
  const last = samples.at(-1)?.at ?? 0;
  const counted = samples.filter(({ at }) => at >= last * warmUp);
  const meanAt = mean(counted.map(({ at }) => at));
  const level = mean(counted.map((sample) => sample[what]));
  let above = 0;
  let below = 0;
  for (const sample of counted) {
    above += (sample.at - meanAt) * (sample[what] - level);
    below += (sample.at - meanAt) ** 2;
  }
  const slope = below === 0 ? 0 : above / below;
  return { mean: level, growth: level === 0 ? 0 : (slope * last * (1 - warmUp)) / level };
}

/** What has grown that should not have. */
export function growing(samples: readonly Sample[]): string[] {
  return (['resident', 'heap', 'sockets'] as const).filter(
    (what) => trendOf(samples, what).growth > allowedGrowth,
  );
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(values.length, 1);
}
