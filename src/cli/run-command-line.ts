import { CommanderError } from 'commander';
import { createProgram } from './program.ts';
import type { CliCommand } from './terminal/cli-command.ts';
import { type CommandContext, CommandFailure, type ExitCode } from './terminal/command-context.ts';

/** Runs one command line. Never throws for bad input; what is wrong is on standard error. */
export async function runCommandLine(args: readonly string[], context: CommandContext): Promise<ExitCode> {
  let code: ExitCode = 0;
  let help = '';
  const program = createProgram(
    context,
    (reported) => {
      code = reported;
    },
    (text) => {
      help += text;
    },
  );
  try {
    // Called without anything, it explains itself, as kubectl does.
    await program.parseAsync(helpAsFlag(args, program), { from: 'user' });
  } catch (error) {
    code = exitCodeOf(error, context);
  }
  if (help !== '') await context.writeOutput(help);
  return code;
}

/** `help nosuch` is as wrong as `nosuch`; left to commander, it would print the help of the whole program. */
function helpAsFlag(args: readonly string[], program: CliCommand): readonly string[] {
  const [command, topic] = args;
  if (command === undefined) return ['--help'];
  if (command !== 'help' || topic === undefined || topic.startsWith('-')) return args;
  const isKnown = program.commands.some((known) => known.name() === topic);
  return isKnown ? [topic, '--help'] : [topic];
}

function exitCodeOf(error: unknown, context: CommandContext): ExitCode {
  // Help and version end the parsing with an error of exit code 0; every other one is a wrong call.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof CommandFailure) {
    for (const line of error.lines) context.writeError(`error: ${line}\n`);
    return error.exitCode;
  }
  // The reader of the output has seen enough (`… | head`).
  if (error instanceof Error && 'code' in error && error.code === 'EPIPE') return 0;
  throw error;
}
