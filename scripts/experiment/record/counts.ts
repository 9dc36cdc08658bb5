import * as v from 'valibot';
import { machineSchema } from '../../harness/machine-schema.ts';

export const count = v.pipe(v.number(), v.integer(), v.minValue(0));

/** What the figures of an experiment have to be read with, and what repeats it. */
export const runEntries = {
  measuredAt: v.string(),
  machine: machineSchema,
  seed: count,
};
