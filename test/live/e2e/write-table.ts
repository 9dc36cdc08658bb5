// Writes the tables of docs/explanation/kubernetes-e2e.md from results: `node test/live/e2e/write-table.ts <directory>`.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { comparisonTables, type RunToCompare } from './comparison.ts';
import { reasons } from './reasons.ts';

const directory = process.argv[2] ?? 'e2e-results';
const files = (await readdir(directory)).filter((name) => /^[a-z]+-\d+\.json$/.test(name));
const names = new Set((await readFile(join(import.meta.dirname, 'tests.txt'), 'utf8')).split('\n'));
const runs = await Promise.all(
  files.map(async (name) => {
    const run = JSON.parse(await readFile(join(directory, name), 'utf8')) as RunToCompare;
    // Results of an earlier list hold tests that are not on it any more.
    const results = Object.entries(run.results).filter(([test]) => names.has(test));
    return { ...run, results: Object.fromEntries(results) };
  }),
);
process.stdout.write(comparisonTables(runs, reasons));
