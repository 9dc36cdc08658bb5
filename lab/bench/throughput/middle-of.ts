import { median, significant } from '../../harness/statistics.ts';
import type { ThroughputFigures } from './results.ts';

/** The medians of several passes, figure by figure; of memory the peak of them all, of CPU time the least, too. */
export function middleOf(passes: readonly ThroughputFigures[]): ThroughputFigures {
  const middle = (values: readonly number[]): number => significant(median(values));
  const latencies = passes.flatMap(({ latency }) => latency ?? []);
  return {
    requestsPerSecond: middle(passes.map(({ requestsPerSecond }) => requestsPerSecond)),
    cpuTimePerRequest: middle(passes.map(({ cpuTimePerRequest }) => cpuTimePerRequest)),
    leastCpuTimePerRequest: Math.min(...passes.map(({ cpuTimePerRequest }) => cpuTimePerRequest)),
    peakMemory: Math.max(...passes.map(({ peakMemory }) => peakMemory)),
    ...(latencies.length > 0 && {
      latency: {
        p50: middle(latencies.map(({ p50 }) => p50)),
        p99: middle(latencies.map(({ p99 }) => p99)),
      },
    }),
  };
}
