/**
 * Thousands of watches for a long time, with snapshots that change: `npm run soak`,
 * bench/results/soak.md.
 */
import { writeGenerated } from '../../generate/generated-file.ts';
import { countFrom } from '../../harness/command-line.ts';
import { writeResults } from '../../harness/results-file.ts';
import { runExperiment, seedFrom, seedOption } from '../run-experiment.ts';
import { runSoak } from './run-soak.ts';
import { soakReport } from './soak-report.ts';
import { soakResultsSchema } from './soak-results.ts';
import { growing, trendOf } from './trend.ts';

const usage = `npm run soak -- [options]
  --minutes N   how long (20)
  --watches N   how many are open (2000)
  --seed N      of what clients do and when (one is drawn and printed)
  --try         show the outcome, and record nothing`;

await runExperiment(
  usage,
  {
    seed: seedOption,
    minutes: { type: 'string', default: '20' },
    watches: { type: 'string', default: '2000' },
    try: { type: 'boolean', default: false },
  },
  async (values) => {
    const seed = seedFrom(values.seed);
    const results = await runSoak({
      minutes: countFrom('minutes', values.minutes),
      watches: countFrom('watches', values.watches),
      seed,
      tell: (line) => console.log(`  ${line}`),
    });
    const { samples, lostEvents } = results;
    for (const what of ['resident', 'heap', 'sockets'] as const) {
      const { mean, growth } = trendOf(samples, what);
      console.log(
        `${what}: ${mean.toFixed(0)} on average, ${(growth * 100).toFixed(1)} % growth after the warm-up`,
      );
    }
    if (!values.try) {
      await writeResults('soak', soakResultsSchema, results);
      await writeGenerated(soakReport);
    }
    const grown = growing(samples);
    if (grown.length > 0) console.log(`FAULT: still growing: ${grown.join(', ')}`);
    if (lostEvents > 0) console.log(`FAULT: ${lostEvents} lost events`);
    return grown.length + lostEvents === 0 ? 0 : 1;
  },
);
