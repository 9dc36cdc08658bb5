import { type ParseArgsConfig, parseArgs } from 'node:util';

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
    const isUsage = error instanceof UsageError || isParseError(error);
    console.error(isUsage ? error.message : error);
    process.exitCode = isUsage ? 2 : 1;
  }
}

type Options = NonNullable<ParseArgsConfig['options']>;

/** What `parseArgs` makes of these options. */
export type OptionValues<Given extends Options> = ReturnType<typeof parseArgs<{ options: Given }>>['values'];

/** The same for a command with options and no other arguments; `--help` shows `usage` and does nothing else. */
export function runMainWithOptions<const Given extends Options>(
  usage: string,
  options: Given,
  main: (values: OptionValues<Given>) => Promise<number>,
): Promise<void> {
  return runMain(async () => {
    if (process.argv.includes('--help')) {
      console.log(usage);
      return 0;
    }
    return main(parseArgs<{ options: Given }>({ options }).values);
  });
}

/** Whether `parseArgs` has refused the arguments. */
function isParseError(error: unknown): error is Error {
  return error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS_');
}
