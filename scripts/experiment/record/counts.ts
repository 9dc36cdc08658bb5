import * as v from 'valibot';
import { machineSchema } from '../../harness/machine-schema.ts';
import { findingNames } from './findings.ts';

export const count = v.pipe(v.number(), v.integer(), v.minValue(0));

/** What is counted of a run under load, whatever was done to the cluster meanwhile. Delays are milliseconds. */
export const countEntries = {
  /** Since the load began. */
  seconds: v.number(),
  requests: count,
  /** Creations that were confirmed. */
  created: count,
  watchRestarts: count,
  longestEventDelay: count,
  lostEvents: count,
  doubledWrites: count,
  findings: v.strictObject(v.entriesFromList(findingNames, count)),
};

const countsSchema = v.strictObject(countEntries);

export type Counts = Readonly<v.InferOutput<typeof countsSchema>>;

/** What the figures of an experiment have to be read with, and what repeats it. */
export const runEntries = {
  measuredAt: v.string(),
  machine: machineSchema,
  seed: count,
};
