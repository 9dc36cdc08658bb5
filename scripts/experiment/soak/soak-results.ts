import * as v from 'valibot';
import { machineSchema } from '../../bench/harness/machine-schema.ts';

const count = v.pipe(v.number(), v.integer(), v.minValue(0));

/** Of all routers together at one moment. */
export const sampleSchema = v.strictObject({
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
  measuredAt: v.string(),
  machine: machineSchema,
  seed: count,
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
