import { array, type InferOutput, number, object, picklist, record } from 'valibot';
import { measurementEntries } from '../measurement.ts';
import { contenderNames } from '../rivals/contender.ts';
import { workloadNames } from '../throughput/workloads.ts';
import { places } from './places.ts';

const figures = object({
  /** Microseconds, with perf looking on: the median of the passes. */
  cpuTimePerRequest: number(),
  /** Of it, by where it goes: from 0 to 1. */
  shares: record(picklist(places), number()),
  samples: number(),
});
export type ProfileFigures = InferOutput<typeof figures>;

/** `bench/results/profile.json`. */
export const profileResultsSchema = object({
  kind: picklist(['profile']),
  ...measurementEntries,
  workloads: array(
    object({
      name: picklist(workloadNames),
      contenders: record(picklist(contenderNames), figures),
    }),
  ),
});
export type ProfileResults = InferOutput<typeof profileResultsSchema>;
