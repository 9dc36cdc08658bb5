import * as v from 'valibot';
import { count, countEntries, runEntries } from '../record/counts.ts';

/** What is killed. */
export const victimNames = ['router', 'syncJob', 'server'] as const;
export type VictimName = (typeof victimNames)[number];

/** The set-ups in which there is something of this project to kill. */
export const killedSetUps = ['sidecar', 'gateway'] as const;
export type KilledSetUp = (typeof killedSetUps)[number];

const killOutcomeSchema = v.strictObject({
  rounds: count,
  kills: v.strictObject(v.entriesFromList(victimNames, count)),
  ...countEntries,
  /** The first of them in words. */
  details: v.array(v.string()),
});

export type KillOutcome = v.InferOutput<typeof killOutcomeSchema>;

/** What bench/results/kill.json holds. */
export const killResultsSchema = v.strictObject({
  ...runEntries,
  setUps: v.partial(v.strictObject(v.entriesFromList(killedSetUps, killOutcomeSchema))),
});

export type KillResults = v.InferOutput<typeof killResultsSchema>;
