import { type InferOutput, object, picklist, record, string } from 'valibot';
import { machineSchema } from '../harness/machine-schema.ts';
import { contenderNames, earlierRouterName } from './rivals/contender.ts';

/** The circumstances of any benchmark's figures. */
export const measurementEntries = {
  measuredAt: string(),
  machine: machineSchema,
  versions: record(picklist([...contenderNames, earlierRouterName]), string()),
};

const measurementSchema = object(measurementEntries);
export type Measurement = InferOutput<typeof measurementSchema>;
