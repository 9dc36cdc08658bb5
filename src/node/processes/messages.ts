import * as v from 'valibot';
import { sealedRenewalLimit, sealedSnapshotLimit } from '../../snapshot/limits.ts';
import { metricsReportSchema } from './metrics-report.ts';

const storedSnapshotSchema = v.strictObject({
  snapshot: v.pipe(v.string(), v.maxLength(sealedSnapshotLimit)),
  renewal: v.optional(v.pipe(v.string(), v.maxLength(sealedRenewalLimit))),
});

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(1));
const tag = v.pipe(v.string(), v.maxLength(16));

/** Where a process listens, as `RunningRouter` has it. */
const listensAtSchema = v.strictObject({ origin: v.string(), adminOrigin: v.optional(v.string()) });

/** What a process may ask its supervisor, or tells it. */
export const processQuestionSchema = v.variant('kind', [
  /** As what it is to run. Answer: `processStartSchema`. */
  v.strictObject({ kind: v.literal('start') }),
  /** It listens. */
  v.strictObject({ kind: v.literal('ready'), listensAt: listensAtSchema }),
  /** It cannot start, and ends. */
  v.strictObject({ kind: v.literal('failed'), reason: v.string() }),
  /** Answer: `changedSnapshotSchema`. */
  v.strictObject({ kind: v.literal('changed-snapshot'), known: tag }),
  /** Answer: `savedSnapshotSchema`. */
  v.strictObject({ kind: v.literal('save-snapshot'), known: tag, stored: storedSnapshotSchema }),
  /** Answer: `admissionSchema`. */
  v.strictObject({
    kind: v.literal('take-nonce'),
    issuer: v.string(),
    nonce: v.pipe(v.string(), v.maxLength(256)),
    deadline: v.pipe(v.number(), v.safeInteger()),
  }),
  /** Answer: `metricsReportSchema`, of all processes together. */
  v.strictObject({ kind: v.literal('gather-metrics'), report: metricsReportSchema }),
  /** The last counts of a process that ends. */
  v.strictObject({ kind: v.literal('last-metrics'), report: metricsReportSchema }),
  /** Lines of the audit log. Answered once they are the supervisor's to write. */
  v.strictObject({ kind: v.literal('audit'), lines: v.array(v.string()) }),
]);

/** What a supervisor may ask a process. */
export const supervisorQuestionSchema = v.variant('kind', [
  /** Another process has taken a snapshot. Answered once it is in use here, too. */
  v.strictObject({ kind: v.literal('catch-up') }),
  /** Answer: `metricsReportSchema`. */
  v.strictObject({ kind: v.literal('report-metrics') }),
  /** Look at certificates and keys at once. Answered when that is done. */
  v.strictObject({ kind: v.literal('reload') }),
  /** End as configured. Answered at once. */
  v.strictObject({ kind: v.literal('shutdown') }),
]);

export const nothingSchema = v.null();

/** How a process is to run. */
export const processStartSchema = v.strictObject({
  number: count,
  of: count,
  /** Port to listen on. */
  port: v.pipe(v.number(), v.safeInteger(), v.minValue(0), v.maxValue(65_535)),
  /** The configuration file as the supervisor read it; `null` without one. Paths and names, no secrets. */
  configuration: v.nullable(v.strictObject({ path: v.string(), text: v.string() })),
});

/** `null`: what is known is still what is stored. */
export const changedSnapshotSchema = v.nullable(
  v.strictObject({ tag, stored: v.nullable(storedSnapshotSchema) }),
);

export const savedSnapshotSchema = v.variant('result', [
  /** In use everywhere. `fault`: why it could not be written to the file. */
  v.strictObject({ result: v.literal('saved'), tag, fault: v.nullable(v.string()) }),
  /** Something else is stored by now than what was known. */
  v.strictObject({ result: v.literal('changed') }),
]);

export const admissionSchema = v.picklist(['fresh', 'replayed', 'full']);

export type ProcessQuestion = v.InferOutput<typeof processQuestionSchema>;
export type SupervisorQuestion = v.InferOutput<typeof supervisorQuestionSchema>;
export type ListensAt = v.InferOutput<typeof listensAtSchema>;
export type ProcessStart = v.InferOutput<typeof processStartSchema>;
export type ChangedSnapshot = v.InferOutput<typeof changedSnapshotSchema>;
export type SavedSnapshot = v.InferOutput<typeof savedSnapshotSchema>;
