/** Rounds of SIGKILL under load: `npm run experiment:kill`, docs/explanation/upgrade-experiment.md. */
import { writeGenerated } from '../../generate/generated-file.ts';
import { countFrom, namesFrom } from '../../harness/command-line.ts';
import { describeMachine } from '../../harness/machine.ts';
import { writeResults } from '../../harness/results-file.ts';
import { terminalTable } from '../../report/text-table.ts';
import { setUpTitles } from '../cluster/set-ups.ts';
import { faultsOf } from '../record/verdict.ts';
import { experimentReport } from '../report/experiment-report.ts';
import { runExperiment, seedFrom, seedOption } from '../run-experiment.ts';
import { type KillResults, killedSetUps, killResultsSchema } from './kill-results.ts';
import { killRows } from './kill-table.ts';
import { runKills } from './run-kills.ts';

const usage = `npm run experiment:kill -- [options]
  --rounds N       kills in all, half of them in each set-up (200)
  --seed N         of who is killed when (one is drawn and printed)
  --set-ups LIST   ${killedSetUps.join(', ')} (both)
  --details        show what was found, and keep the logs
  --try            show the outcome, and record nothing`;

await runExperiment(
  usage,
  {
    seed: seedOption,
    rounds: { type: 'string', default: '200' },
    'set-ups': { type: 'string' },
    details: { type: 'boolean', default: false },
    try: { type: 'boolean', default: false },
  },
  async (values) => {
    const seed = seedFrom(values.seed);
    const names = namesFrom('set-ups', values['set-ups'], killedSetUps);
    const rounds = countFrom('rounds', values.rounds, names.length);
    const results: KillResults = {
      measuredAt: new Date().toISOString(),
      machine: describeMachine(),
      seed,
      setUps: {},
    };
    let faults = 0;
    for (const [index, setUp] of names.entries()) {
      console.log(`\n${setUpTitles[setUp]}`);
      const share = Math.floor(rounds / names.length) + (index < rounds % names.length ? 1 : 0);
      const outcome = await runKills({
        setUp,
        rounds: share,
        seed: seed + index,
        tell: (line) => console.log(`  ${line}`),
        keepDirectory: values.details,
      });
      results.setUps[setUp] = outcome;
      if (values.details) for (const line of outcome.details) console.log(`  ${line}`);
      for (const fault of faultsOf(outcome)) {
        faults += 1;
        console.log(`  FAULT: ${fault}`);
      }
    }
    console.log(`\n${terminalTable(killRows(results))}`);
    if (!values.try) {
      await writeResults('kill', killResultsSchema, results);
      await writeGenerated(experimentReport);
    }
    return faults === 0 ? 0 : 1;
  },
);
