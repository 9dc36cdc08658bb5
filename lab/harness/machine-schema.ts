import { type InferOutput, number, object, string } from 'valibot';

/** The machine that figures are of, and its load. */
export const machineSchema = object({
  processor: string(),
  cores: number(),
  /** GiB. */
  memory: number(),
  kernel: string(),
  /** Processes that wanted to run in the minute before: above half the cores the machine was not quiet. */
  loadBefore: number(),
});
export type Machine = InferOutput<typeof machineSchema>;
