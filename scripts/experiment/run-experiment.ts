import { withCleanup } from '../harness/cleanup.ts';
import { countFrom, type OptionValues, runMainWithOptions } from '../harness/command-line.ts';

/** One is drawn where none is given. */
export const seedOption = {
  type: 'string',
  default: String(Math.floor(Math.random() * 2 ** 31)),
} as const;

/** Says which it is, so that the run can be repeated. */
export function seedFrom(given: string): number {
  const seed = countFrom('seed', given, 0);
  console.log(`seed ${seed}`);
  return seed;
}

/** Runs the main function of an experiment; told to end, it exits, and its processes end with it. */
export function runExperiment<const Options extends Parameters<typeof runMainWithOptions>[1]>(
  usage: string,
  options: Options,
  main: (values: OptionValues<Options>) => Promise<number>,
): Promise<void> {
  return runMainWithOptions(usage, options, (values) => withCleanup(() => main(values)));
}
