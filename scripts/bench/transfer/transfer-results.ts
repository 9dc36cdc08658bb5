import { array, type InferOutput, number, object, picklist, record } from 'valibot';
import { measurementEntries } from '../measurement.ts';
import { contenderNames } from '../rivals/contender.ts';

const figures = object({
  /** KiB by which memory grew at most while one slow client read; and what had been in memory before. */
  slowReaderGrowth: number(),
  memoryBefore: number(),
});

/** What was measured with one process. */
export type TransferFigures = InferOutput<typeof figures>;

/** `bench/results/transfer.json`. */
export const transferResultsSchema = object({
  kind: picklist(['transfer']),
  ...measurementEntries,
  /** MB that the slow client read, and MB a second. */
  slowMegabytes: number(),
  slowRate: number(),
  rounds: array(record(picklist(contenderNames), figures)),
});
export type TransferResults = InferOutput<typeof transferResultsSchema>;
