import { parseArgs } from 'node:util';

/** A mistake in the command line: told without a stack. */
export class UsageError extends Error {}

/** A list of names with commas between them; all of `allowed` where nothing is given. @throws {UsageError} */
export function namesFrom<Name extends string>(
  flag: string,
  given: string | undefined,
  allowed: readonly Name[],
): readonly Name[] {
  if (given === undefined) return allowed;
  const names = given.split(',').map((name) => name.trim());
  const unknown = names.filter((name) => !allowed.some((other) => other === name));
  if (unknown.length > 0) {
    throw new UsageError(`--${flag}: there is no ${unknown.join(', ')}. Choose from ${allowed.join(', ')}.`);
  }
  return allowed.filter((name) => names.includes(name));
}

/** A whole number of at least `least`. @throws {UsageError} */
export function countFrom(flag: string, given: string, least = 1): number {
  const value = Number(given);
  if (!Number.isInteger(value) || value < least) {
    throw new UsageError(`--${flag}: ${JSON.stringify(given)} is no whole number of at least ${least}.`);
  }
  return value;
}

/**
 * Seconds of a load, in tenths: the CPU clock ticks in hundredths, so that less is not measured well.
 * @throws {UsageError}
 */
export function secondsFrom(flag: string, given: string): number {
  const value = Number(given);
  if (!/^\d+(\.\d)?$/.test(given) || value === 0) {
    throw new UsageError(
      `--${flag}: ${JSON.stringify(given)} is no number of seconds above 0, like 2 or 0.4 (tenths at most).`,
    );
  }
  return value;
}

/** Runs a command's main function; a failure is told on standard error and ends it with 1, a mistake in the command line with 2. */
async function runMain(main: () => Promise<number>): Promise<void> {
  try {
    process.exitCode = await main();
  } catch (error) {
    const isUsage = error instanceof UsageError;
    console.error(isUsage ? error.message : error);
    process.exitCode = isUsage ? 2 : 1;
  }
}

/** Options by name, each with what `--help` says of it. */
type Options = Readonly<
  Record<
    string,
    {
      readonly type: 'string' | 'boolean';
      readonly default?: string | boolean;
      /** For one with a value, how that is called: `N`, `LIST`. */
      readonly value?: string;
      readonly about: string;
    }
  >
>;

/** Values of these options, as `parseArgs` has them. */
export type OptionValues<Given extends Options> = ReturnType<typeof parseArgs<{ options: Given }>>['values'];

/** The text of `--help`. */
export function usageOf(experiment: string, options: Options): string {
  const heads = Object.entries(options).map(([name, { value }]) =>
    value === undefined ? `--${name}` : `--${name} ${value}`,
  );
  const width = Math.max(...heads.map(({ length }) => length));
  const rows = Object.values(options).map(({ about, default: usual }, index) => {
    const inUse = typeof usual === 'string' && usual !== '' ? ` (${usual})` : '';
    return `  ${(heads[index] ?? '').padEnd(width)}  ${about}${inUse}`;
  });
  return [`npm run lab -- ${experiment} [options]`, ...rows].join('\n');
}

/**
 * The options that an experiment is given. `--help` shows what there is, and ends the process; so does one that there is not,
 * with 2.
 */
export function readOptions<const Given extends Options>(
  experiment: string,
  options: Given,
): OptionValues<Given> {
  const usage = usageOf(experiment, options);
  if (process.argv.includes('--help')) {
    console.log(usage);
    process.exit(0);
  }
  try {
    return parseArgs<{ options: Given }>({ options }).values;
  } catch (error) {
    if (!isParseError(error)) throw error;
    console.error(`${error.message}\n\n${usage}`);
    process.exit(2);
  }
}

/** Runs an experiment with these options, and no other arguments. */
export function runExperiment<const Given extends Options>(
  experiment: string,
  options: Given,
  main: (values: OptionValues<Given>) => Promise<number>,
): Promise<void> {
  return runMain(() => main(readOptions(experiment, options)));
}

/** Tells errors by which `parseArgs` refuses arguments. */
function isParseError(error: unknown): error is Error {
  return error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS_');
}
