import * as v from 'valibot';
import { count, runEntries } from '../record/counts.ts';

/** Of all routers together at one moment. */
const sampleSchema = v.strictObject({
  /** Seconds since the watches were open. */
  at: v.number(),
  /** MiB in memory. */
  resident: v.number(),
  /** MiB of the JavaScript heap that live, measured behind a full garbage collection. */
  heap: v.number(),
  sockets: count,
  /** Generation of the snapshot that they hold. */
  generation: count,
});

export type Sample = v.InferOutput<typeof sampleSchema>;

/** What bench/results/soak.json holds. */
export const soakResultsSchema = v.strictObject({
  ...runEntries,
  minutes: v.number(),
  watches: count,
  slowReaders: count,
  reconnectingClients: count,
  routers: count,
  events: count,
  lostEvents: count,
  watchRestarts: count,
  brokenWatches: count,
  samples: v.array(sampleSchema),
});

export type SoakResults = v.InferOutput<typeof soakResultsSchema>;
