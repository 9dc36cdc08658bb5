import { runCommandLine } from '../../../src/cli/run-command-line.ts';
import type { CommandContext } from '../../../src/cli/terminal/command-context.ts';

/** Output of a command, gathered. */
export interface Written {
  output: string;
  errors: string;
}

export interface CommandContextOptions {
  /** Chunks of standard input. */
  readonly input?: readonly string[];
  /** Default: now. */
  readonly now?: number;
  /** True if the output is a terminal that shows colours. Default: it is not. */
  readonly outputTakesColor?: boolean;
  /** Variables of the environment. Default: none. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Default: every port is free, whatever runs on this machine. */
  readonly portInUse?: CommandContext['portInUse'];
  /** Default: never asked to end. */
  readonly shutdownSignal?: Promise<'SIGTERM'>;
  /** Default: never asked to read files again. */
  readonly onReloadSignal?: (listener: () => void) => void;
}

/** A command's surroundings, with files in memory. */
export function commandContext(
  files: ReadonlyMap<string, string>,
  {
    input = [],
    now,
    outputTakesColor = false,
    environment = {},
    portInUse = async () => undefined,
    shutdownSignal = new Promise(() => {}),
    onReloadSignal = () => {},
  }: CommandContextOptions = {},
): { readonly context: CommandContext; readonly written: Written } {
  const written: Written = { output: '', errors: '' };
  const context: CommandContext = {
    stdin: (async function* () {
      for (const part of input) yield new TextEncoder().encode(part);
    })(),
    writeOutput: async (text) => {
      written.output += text;
    },
    outputTakesColor,
    outputWidth: () => 80,
    environment,
    portInUse,
    writeError: (text) => {
      written.errors += text;
    },
    readFile: (path) => {
      const text = files.get(path);
      if (text === undefined) throw new Error('ENOENT: no such file or directory');
      return text;
    },
    clock: () => now ?? Date.now(),
    shutdownSignal: () => shutdownSignal,
    onReloadSignal,
  };
  return { context, written };
}

/** Runs a whole command line in this process. */
export async function runCommand(
  files: ReadonlyMap<string, string>,
  args: readonly string[],
  options?: CommandContextOptions,
): Promise<Written & { readonly code: number }> {
  const { context, written } = commandContext(files, options);
  const code = await runCommandLine(args, context);
  return { code, ...written };
}
