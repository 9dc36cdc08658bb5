/**
 * A rolling upgrade under load in four set-ups: `npm run experiment:upgrade`, bench/results/upgrade.md.
 */
import { writeGenerated } from '../../generate/generated-file.ts';
import { namesFrom } from '../../harness/command-line.ts';
import { describeMachine } from '../../harness/machine.ts';
import { writeResults } from '../../harness/results-file.ts';
import { terminalTable } from '../../report/text-table.ts';
import { hasRouters, setUpNames, setUpTitles } from '../cluster/set-ups.ts';
import { countTable } from '../record/count-table.ts';
import { faultsOf } from '../record/verdict.ts';
import { experimentReport } from '../report/experiment-report.ts';
import { runExperiment, seedFrom, seedOption } from '../run-experiment.ts';
import { paces } from './paces.ts';
import { serverEnds } from './rolling-upgrade.ts';
import { runSetUp } from './run-set-up.ts';
import { type UpgradeOutcomes, type UpgradeResults, upgradeResultsSchema } from './upgrade-results.ts';

const usage = `npm run experiment:upgrade -- [options]
  --set-ups LIST   ${setUpNames.join(', ')} (all)
  --ends LIST      ${serverEnds.join(', ')} (both): how servers end before they are upgraded
  --seed N         of what clients do and when (one is drawn and printed)
  --quick          a short run; only whole runs of everything are recorded
  --details        show what was found, and keep the logs`;

const from = '1.25';
const to = '1.26';

await runExperiment(
  usage,
  {
    seed: seedOption,
    'set-ups': { type: 'string' },
    ends: { type: 'string' },
    quick: { type: 'boolean', default: false },
    details: { type: 'boolean', default: false },
  },
  async (values) => {
    const seed = seedFrom(values.seed);
    const names = namesFrom('set-ups', values['set-ups'], setUpNames);
    const ends = namesFrom('ends', values.ends, serverEnds);
    const results: UpgradeResults = {
      measuredAt: new Date().toISOString(),
      machine: describeMachine(),
      seed,
      from,
      to,
      upgrades: {},
    };
    let faults = 0;
    for (const serverEnd of ends) {
      const outcomes: UpgradeOutcomes = {};
      for (const setUp of names) {
        console.log(`\n${setUpTitles[setUp]}, servers ${serverEnd}`);
        const outcome = await runSetUp({
          setUp,
          from,
          to,
          serverEnd,
          seed,
          pace: values.quick ? paces.quick : paces.full,
          tell: (line) => console.log(`  ${line}`),
          keepDirectory: values.details,
        });
        outcomes[setUp] = outcome;
        if (values.details) for (const line of outcome.details) console.log(`  ${line}`);
        if (!hasRouters(setUp)) continue;
        for (const fault of faultsOf(outcome)) {
          faults += 1;
          console.log(`  FAULT: ${fault}`);
        }
      }
      results.upgrades[serverEnd] = outcomes;
      console.log(`\n${terminalTable(countTable(setUpNames, outcomes))}`);
    }
    if (!values.quick && names.length === setUpNames.length && ends.length === serverEnds.length) {
      await writeResults('upgrade', upgradeResultsSchema, results);
      await writeGenerated(experimentReport);
    }
    return faults === 0 ? 0 : 1;
  },
);
