import * as v from 'valibot';
import { machineSchema } from '../../bench/harness/machine-schema.ts';
import { findingNames } from '../record/findings.ts';

const count = v.pipe(v.number(), v.integer(), v.minValue(0));

/** What is killed. */
export const victimNames = ['router', 'syncJob', 'server'] as const;
export type VictimName = (typeof victimNames)[number];

/** The set-ups in which there is something of this project to kill. */
export const killedSetUps = ['sidecar', 'gateway'] as const;
export type KilledSetUp = (typeof killedSetUps)[number];

export const killOutcomeSchema = v.strictObject({
  rounds: count,
  kills: v.strictObject(v.entriesFromList(victimNames, count)),
  seconds: v.number(),
  requests: count,
  created: count,
  watchRestarts: count,
  longestEventDelay: count,
  lostEvents: count,
  doubledWrites: count,
  findings: v.strictObject(v.entriesFromList(findingNames, count)),
  /** The first of them in words. */
  details: v.array(v.string()),
});

export type KillOutcome = v.InferOutput<typeof killOutcomeSchema>;

/** What bench/results/kill.json holds. */
export const killResultsSchema = v.strictObject({
  measuredAt: v.string(),
  machine: machineSchema,
  seed: count,
  setUps: v.partial(v.strictObject(v.entriesFromList(killedSetUps, killOutcomeSchema))),
});

export type KillResults = v.InferOutput<typeof killResultsSchema>;
