import { quantile, significant } from '../../harness/statistics.ts';
import type { ThroughputFigures } from './results.ts';

/** The medians of several passes, figure by figure; of memory the peak of them all, of CPU time the least, too. */
export function middleOf(passes: readonly ThroughputFigures[]): ThroughputFigures {
  const median = (values: readonly number[]): number =>
    significant(
      quantile(
        values.toSorted((one, other) => one - other),
        0.5,
      ),
    );
  const latencies = passes.flatMap(({ latency }) => latency ?? []);
  return {
    requestsPerSecond: median(passes.map(({ requestsPerSecond }) => requestsPerSecond)),
    cpuTimePerRequest: median(passes.map(({ cpuTimePerRequest }) => cpuTimePerRequest)),
    leastCpuTimePerRequest: Math.min(...passes.map(({ cpuTimePerRequest }) => cpuTimePerRequest)),
    peakMemory: Math.max(...passes.map(({ peakMemory }) => peakMemory)),
    ...(latencies.length > 0 && {
      latency: {
        p50: median(latencies.map(({ p50 }) => p50)),
        p99: median(latencies.map(({ p99 }) => p99)),
      },
    }),
  };
}
