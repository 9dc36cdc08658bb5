import * as v from 'valibot';
import { type SetUpName, setUpNames } from '../cluster/set-ups.ts';
import { countEntries, runEntries } from '../record/counts.ts';
import { findingNames } from '../record/findings.ts';
import { serverEnds } from './rolling-upgrade.ts';

/** Moments are seconds since the load began. */
const setUpOutcomeSchema = v.strictObject({
  ...countEntries,
  timeline: v.array(v.strictObject({ name: v.picklist(findingNames), at: v.number() })),
  /** The first of them in words. */
  details: v.array(v.string()),
  steps: v.array(v.strictObject({ title: v.string(), at: v.number() })),
});

export type SetUpOutcome = v.InferOutput<typeof setUpOutcomeSchema>;

/** What bench/results/upgrade.json holds. */
export const upgradeResultsSchema = v.strictObject({
  ...runEntries,
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
