import { CommanderError } from 'commander';
import { registerKeygen } from './commands/keygen.ts';
import { registerCompletion } from './completion/register-completion.ts';
import { registerDoctor } from './doctor/register-doctor.ts';
import { registerExplain } from './explain/explain-command.ts';
import { registerInstall } from './install/register-install.ts';
import { registerServe } from './serve/serve-command.ts';
import { registerStatus } from './status/register-status.ts';
import { registerSync } from './sync/sync-command.ts';
import { CliCommand, type ReportExitCode } from './terminal/cli-command.ts';
import { type CommandContext, CommandFailure, type ExitCode } from './terminal/command-context.ts';
import { helpHint, usageError } from './terminal/usage-error.ts';
import { packageVersion, registerVersion } from './terminal/version.ts';

/** Runs one command line. Never throws for bad input; errors are on standard error. */
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
    if (error.hint !== undefined) context.writeError(`${error.hint}\n`);
    return error.exitCode;
  }
  // The reader of the output has seen enough (`… | head`).
  if (error instanceof Error && 'code' in error && error.code === 'EPIPE') return 0;
  throw error;
}

/**
 * The command line: every subcommand there is.
 * @param showHelp gets help and version, which a command line that only asks for them ends with
 */
export function createProgram(
  context: CommandContext,
  report: ReportExitCode,
  showHelp: (text: string) => void,
): CliCommand {
  const program = new CliCommand('mixed-version-proxy');
  // Before the subcommands: they inherit these settings at the moment they are made.
  program
    .configureOutput({
      writeOut: showHelp,
      writeErr: context.writeError,
      outputError: (text, write) => write(usageError(text, program)),
    })
    .description(
      'Routes the requests of a Kubernetes cluster whose API servers run different versions: each one goes to a server that can serve it.',
    )
    .usage('<command> [flags]')
    .version(packageVersion(), '--version', 'Print the version.')
    .helpOption('-h, --help', 'Print help for a command.')
    .helpCommand('help [command]', 'Print help for a command')
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .showHelpAfterError(helpHint)
    .exitOverride();
  registerServe(program, context, report, async () => {
    const { setGarbageCollectorForServing } = await import('../node/process/garbage-collection.ts');
    setGarbageCollectorForServing();
    const { startRouter } = await import('../node/process/start-router.ts');
    return async (config, logger, options) => {
      const { embeddedSync } = config;
      if (embeddedSync === undefined) return startRouter(config, logger, options);
      const { openEmbeddedSync } = await import('../sync/node/embedded/embedded-sync.ts');
      return startRouter(config, logger, { ...options, openEmbeddedSync });
    };
  });
  registerSync(program, context, report);
  registerExplain(program, context, report);
  registerStatus(program, context, report);
  registerDoctor(program, context, report);
  registerInstall(program, context, report);
  registerKeygen(program, context, report);
  registerCompletion(program, context, report);
  registerVersion(program, context, report);
  return program;
}
