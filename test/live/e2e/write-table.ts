// Writes the tables of README.md from results: `npm run docs:e2e -- <directory>`.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceBetweenMarkers } from '../../../scripts/report/markers.ts';
import { comparisonTables, type RunToCompare } from './comparison.ts';
import { reasons } from './reasons.ts';

const page = join(import.meta.dirname, 'README.md');
const directory = process.argv[2] ?? 'e2e-results';
const files = (await readdir(directory)).filter((name) => /^[a-z]+-\d+\.json$/.test(name)).sort();
const names = new Set((await readFile(join(import.meta.dirname, 'tests.txt'), 'utf8')).split('\n'));
const runs = await Promise.all(
  files.map(async (name) => {
    const run = JSON.parse(await readFile(join(directory, name), 'utf8')) as RunToCompare;
    // Results of an earlier list hold tests that are not on it any more.
    const results = Object.entries(run.results).filter(([test]) => names.has(test));
    return { ...run, results: Object.fromEntries(results) };
  }),
);
const { counts, tests } = comparisonTables(runs, reasons);
await fill('counts', counts);
await fill('tests', tests);

async function fill(place: string, table: string): Promise<void> {
  await writeFile(page, replaceBetweenMarkers(await readFile(page, 'utf8'), place, table));
}
