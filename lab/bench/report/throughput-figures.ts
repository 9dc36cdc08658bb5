import type { ThroughputResults, ThroughputRound, WorkloadResults } from '../throughput/results.ts';

/** Figures with nothing in them but CPU time, in µs a request. */
export function roundOf(cpuTimes: Readonly<Record<string, number>>): ThroughputRound {
  const figures = Object.entries(cpuTimes).map(([name, cpuTimePerRequest]) => [
    name,
    {
      requestsPerSecond: 1_000,
      cpuTimePerRequest,
      leastCpuTimePerRequest: cpuTimePerRequest,
      peakMemory: 2_048,
    },
  ]);
  return { contenders: Object.fromEntries(figures) };
}

export function workloadOf(rounds: readonly ThroughputRound[]): WorkloadResults {
  return {
    measuredAt: '2026-01-02T03:04:05.000Z',
    machine: { processor: 'Example', cores: 2, memory: 8, kernel: '6.1', loadBefore: 0.1 },
    passes: 1,
    warmUp: 0.3,
    seconds: 1,
    versions: { direct: '', router: '1.0', go: '1.26' },
    rounds: [...rounds],
  };
}

export function resultsOf(workloads: ThroughputResults['workloads']): ThroughputResults {
  return { kind: 'throughput', workloads };
}
