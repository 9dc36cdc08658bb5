import { array, type InferOutput, number, object, optional, picklist, record } from 'valibot';
import { measurementEntries } from '../measurement.ts';
import { contenderNames, earlierRouterName } from '../rivals/contender.ts';
import { workloadNames } from './workloads.ts';

const figures = object({
  requestsPerSecond: number(),
  /** Microseconds of CPU time of the proxy's processes for a request; 0 where there is no proxy. */
  cpuTimePerRequest: number(),
  /** Microseconds of the best of several passes: the CPU time when nobody else uses the machine. */
  leastCpuTimePerRequest: optional(number()),
  /** KiB in memory at most during the workload, summed over the proxy's processes. */
  peakMemory: number(),
  /** Milliseconds; only at a fixed rate. */
  latency: optional(object({ p50: number(), p99: number() })),
});

/** Figures of one contender in one round of one workload. */
export type ThroughputFigures = InferOutput<typeof figures>;

const round = object({
  /** Requests a second that were asked for; only at a fixed rate. */
  rate: optional(number()),
  contenders: record(picklist([...contenderNames, earlierRouterName]), figures),
});
export type ThroughputRound = InferOutput<typeof round>;

const workloadResults = object({
  ...measurementEntries,
  /** How often each contender was measured in each round; what is recorded of a round is the median of them. */
  passes: number(),
  /** Seconds of load before anything counts, in each pass. */
  warmUp: number(),
  /** Seconds of each, after the warm-up. */
  seconds: number(),
  /** Each with fresh processes. */
  rounds: array(round),
});
export type WorkloadResults = InferOutput<typeof workloadResults>;

/** `lab/bench/results/throughput.json`. */
export const throughputResultsSchema = object({
  kind: picklist(['throughput']),
  workloads: record(picklist(workloadNames), workloadResults),
});
export type ThroughputResults = InferOutput<typeof throughputResultsSchema>;
