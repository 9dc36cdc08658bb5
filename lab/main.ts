/**
 * The laboratory: `npm run lab` prints what there is, `npm run lab -- <name> [options]` runs one, which prints its own options
 * for `--help`.
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { laboratory } from './table.ts';

const [name, ...rest] = process.argv.slice(2);
const experiment = laboratory.flatMap(({ experiments }) => experiments).find((each) => each.name === name);

if (experiment === undefined) {
  const width = Math.max(
    ...laboratory.flatMap(({ experiments }) => experiments.map((each) => each.name.length)),
  );
  const sections = laboratory.map(({ title, experiments }) =>
    [title, ...experiments.map((each) => `  ${each.name.padEnd(width)}  ${each.question}`)].join('\n'),
  );
  const isAsked = name === undefined || name === '--help';
  if (!isAsked) process.stderr.write(`There is no experiment ${JSON.stringify(name)}. There are:\n\n`);
  process[isAsked ? 'stdout' : 'stderr'].write(
    `${sections.join('\n\n')}\n\nnpm run lab -- <name> [options]\n`,
  );
  process.exitCode = isAsked ? 0 : 2;
} else {
  const module = join(import.meta.dirname, experiment.module);
  // The live suites start themselves again by these, in a network namespace of their own.
  process.argv.splice(1, Infinity, module, ...rest);
  await import(pathToFileURL(module).href);
}
