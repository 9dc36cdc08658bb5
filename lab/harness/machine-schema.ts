import { type InferOutput, number, object, string } from 'valibot';

/** What figures have to be read with. */
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
