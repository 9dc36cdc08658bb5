import { array, type InferOutput, number, object, picklist, record, string } from 'valibot';
import { machineSchema } from '../../harness/machine-schema.ts';
import { contenderNames } from '../rivals/contender.ts';

const figures = object({
  /** MB (10⁶ bytes) a second of lists of 10 MB, read as fast as they come. */
  megabytesPerSecond: number(),
  /** Milliseconds of CPU time for each list. */
  cpuTimePerList: number(),
  /** KiB by which memory grew at most while one slow client read; and what had been in memory before. */
  slowReaderGrowth: number(),
  memoryBefore: number(),
});

/** What was measured with one process. */
export type TransferFigures = InferOutput<typeof figures>;

/** `bench/results/transfer.json`. */
export const transferResultsSchema = object({
  kind: picklist(['transfer']),
  measuredAt: string(),
  machine: machineSchema,
  /** MB that the slow client read, and MB a second. */
  slowMegabytes: number(),
  slowRate: number(),
  versions: record(picklist(contenderNames), string()),
  rounds: array(record(picklist(contenderNames), figures)),
});
export type TransferResults = InferOutput<typeof transferResultsSchema>;
