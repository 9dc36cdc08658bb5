import { array, type InferOutput, number, object, picklist, record, string } from 'valibot';
import { machineSchema } from '../../harness/machine-schema.ts';
import { contenderNames } from '../rivals/contender.ts';

const arrivals = object({ received: number(), p50: number(), p99: number(), max: number() });

const figures = object({
  /** KiB, after a few watches were opened and closed, and with all of them open. */
  memoryBefore: number(),
  memoryWithWatches: number(),
  /** KiB. */
  memoryPerWatch: number(),
  /** KiB at most, opening and events included. */
  peakMemory: number(),
  sockets: number(),
  /** Microseconds for one event at one watch. */
  cpuTimePerEvent: number(),
  /** One for each event that was sent to all: milliseconds from the server's write to the client's read. */
  arrivals: array(arrivals),
});

/** What was measured with one process. */
export type WatchFigures = InferOutput<typeof figures>;

/** How clients speak. */
export const watchModes = ['http2', 'http1'] as const;
export type WatchMode = (typeof watchModes)[number];

/** `bench/results/watches.json`. */
export const watchResultsSchema = object({
  kind: picklist(['watches']),
  modes: record(
    picklist(watchModes),
    object({
      measuredAt: string(),
      machine: machineSchema,
      watches: number(),
      perConnection: number(),
      versions: record(picklist(contenderNames), string()),
      /** Each a fresh process of every contender. */
      rounds: array(record(picklist(contenderNames), figures)),
    }),
  ),
});
export type WatchResults = InferOutput<typeof watchResultsSchema>;
