import * as v from 'valibot';
import { machineSchema } from '../../bench/harness/machine-schema.ts';
import { type SetUpName, setUpNames } from '../cluster/set-ups.ts';
import { findingNames } from '../record/findings.ts';
import { serverEnds } from './rolling-upgrade.ts';

const count = v.pipe(v.number(), v.integer(), v.minValue(0));

/** Seconds are counted from the start of the load, delays are milliseconds. */
export const setUpOutcomeSchema = v.strictObject({
  seconds: v.number(),
  requests: count,
  created: count,
  watchRestarts: count,
  longestEventDelay: count,
  lostEvents: count,
  doubledWrites: count,
  findings: v.strictObject(v.entriesFromList(findingNames, count)),
  timeline: v.array(v.strictObject({ name: v.picklist(findingNames), at: v.number() })),
  /** The first of them in words. */
  details: v.array(v.string()),
  steps: v.array(v.strictObject({ title: v.string(), at: v.number() })),
});

export type SetUpOutcome = v.InferOutput<typeof setUpOutcomeSchema>;

/** What bench/results/upgrade.json holds. */
export const upgradeResultsSchema = v.strictObject({
  measuredAt: v.string(),
  machine: machineSchema,
  seed: count,
  from: v.string(),
  to: v.string(),
  /** By how the servers end. */
  upgrades: v.partial(
    v.strictObject(
      v.entriesFromList(
        serverEnds,
        v.partial(v.strictObject(v.entriesFromList(setUpNames, setUpOutcomeSchema))),
      ),
    ),
  ),
});

/** What came of one way to upgrade, by set-up. */
export type UpgradeOutcomes = { [Name in SetUpName]?: SetUpOutcome | undefined };
export type UpgradeResults = v.InferOutput<typeof upgradeResultsSchema>;
