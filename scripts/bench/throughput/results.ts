import { array, type InferOutput, number, object, optional, picklist, record, string } from 'valibot';
import { machineSchema } from '../../harness/machine-schema.ts';
import { contenderNames, earlierRouterName } from '../rivals/contender.ts';
import { workloadNames } from './workloads.ts';

const figures = object({
  requestsPerSecond: number(),
  /** Microseconds of CPU time of the proxy's processes for a request; 0 where there is no proxy. */
  cpuTimePerRequest: number(),
  /** The same in the best of the passes: what is left when nobody else uses the machine. Not in older recordings. */
  leastCpuTimePerRequest: optional(number()),
  /** KiB in memory at most during the workload, summed over the proxy's processes. */
  peakMemory: number(),
  /** Milliseconds; only at a fixed rate. */
  latency: optional(object({ p50: number(), p99: number() })),
});

const measuredNames = [...contenderNames, earlierRouterName] as const;

/** What one contender did in one round of one workload. */
export type ThroughputFigures = InferOutput<typeof figures>;

const round = object({
  /** Requests a second that were asked for; only at a fixed rate. */
  rate: optional(number()),
  contenders: record(picklist(measuredNames), figures),
});
export type ThroughputRound = InferOutput<typeof round>;

const workloadResults = object({
  measuredAt: string(),
  machine: machineSchema,
  /** How often each contender was measured in each round; what is recorded of a round is the median of them. */
  passes: optional(number(), 1),
  /** Seconds of load before anything counts, in each pass. */
  warmUp: optional(number(), 0.3),
  /** Seconds of each, after the warm-up. */
  seconds: number(),
  /** Whether the load came with a client certificate, and an identity was stamped. */
  clientCertificate: picklist(['presented', 'none']),
  backend: picklist(['go', 'nginx']),
  versions: record(picklist(measuredNames), string()),
  /** Each with fresh processes. */
  rounds: array(round),
});
export type WorkloadResults = InferOutput<typeof workloadResults>;

/** `bench/results/throughput.json`. */
export const throughputResultsSchema = object({
  kind: picklist(['throughput']),
  workloads: record(picklist(workloadNames), workloadResults),
});
export type ThroughputResults = InferOutput<typeof throughputResultsSchema>;
