import { array, type InferOutput, number, object, picklist, record } from 'valibot';
import { measurementEntries } from '../measurement.ts';
import { contenderNames } from '../rivals/contender.ts';

/** How long an event that was sent to all took, in milliseconds. */
export const arrivalsSchema = object({
  received: number(),
  /** From the server's write to one watch to that watch's read. */
  p50: number(),
  p99: number(),
  max: number(),
  /** From the server's first write to the last read: what the server, the proxy and the clients take together. */
  all: number(),
});
export type Arrivals = InferOutput<typeof arrivalsSchema>;

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
  /** One for each event. */
  arrivals: array(arrivalsSchema),
});

/** Figures of one process. */
export type WatchFigures = InferOutput<typeof figures>;

/** How clients speak. */
export const watchModes = ['http2', 'http1'] as const;
export type WatchMode = (typeof watchModes)[number];

/** `lab/bench/results/watches.json`. */
export const watchResultsSchema = object({
  kind: picklist(['watches']),
  modes: record(
    picklist(watchModes),
    object({
      ...measurementEntries,
      watches: number(),
      perConnection: number(),
      /** Each a fresh process of every contender. */
      rounds: array(record(picklist(contenderNames), figures)),
    }),
  ),
});
export type WatchResults = InferOutput<typeof watchResultsSchema>;
