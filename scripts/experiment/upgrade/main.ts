/** A rolling upgrade under load in four set-ups: `npm run experiment:upgrade`, docs/upgrade-experiment.md. */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { countFrom, namesFrom, runMain } from '../../bench/harness/command-line.ts';
import { describeMachine } from '../../bench/harness/machine.ts';
import { readResults, resultsDirectory, writeResults } from '../../bench/harness/results-file.ts';
import { terminalTable } from '../../bench/report/text-table.ts';
import { hasRouters, setUpNames, setUpTitles } from '../cluster/set-ups.ts';
import { writeExperimentReport } from '../report/write-experiment-report.ts';
import { paces } from './paces.ts';
import { runSetUp } from './run-set-up.ts';
import { faultsOf } from './verdict.ts';
import { type UpgradeResults, upgradeResultsSchema } from './upgrade-results.ts';
import { upgradeRows } from './upgrade-table.ts';

const usage = `npm run experiment:upgrade -- [options]
  --set-ups LIST   ${setUpNames.join(', ')} (all)
  --seed N         of what clients do and when (one is drawn and printed)
  --quick          a short run, which is not recorded
  --details        show what was found, and keep the logs`;

const from = '1.25';
const to = '1.26';

await runMain(async () => {
  const { values } = parseArgs({
    options: {
      'set-ups': { type: 'string' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
      quick: { type: 'boolean', default: false },
      details: { type: 'boolean', default: false },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    console.log(usage);
    return 0;
  }
  const names = namesFrom('set-ups', values['set-ups'], setUpNames);
  const seed = countFrom('seed', values.seed, 0);
  console.log(`seed ${seed}`);
  const path = join(resultsDirectory, 'upgrade.json');
  const recorded = await readResults(path, upgradeResultsSchema);
  const results: UpgradeResults = { measuredAt: new Date().toISOString(), machine: describeMachine(), seed, from, to, setUps: {} };
  let faults = 0;
  for (const setUp of names) {
    console.log(`\n${setUpTitles[setUp]}`);
    const outcome = await runSetUp({
      setUp,
      from,
      to,
      seed,
      pace: values.quick ? paces.quick : paces.full,
      tell: (line) => console.log(`  ${line}`),
      keepDirectory: values.details,
    });
    results.setUps[setUp] = outcome;
    if (values.details) for (const line of outcome.details) console.log(`  ${line}`);
    if (!hasRouters(setUp)) continue;
    for (const fault of faultsOf(outcome)) {
      faults += 1;
      console.log(`  FAULT: ${fault}`);
    }
  }
  console.log(`\n${terminalTable(upgradeRows(results))}`);
  if (!values.quick) {
    await writeResults(path, upgradeResultsSchema, { ...results, setUps: { ...recorded?.setUps, ...results.setUps } });
    await writeExperimentReport();
  }
  return faults === 0 ? 0 : 1;
});
