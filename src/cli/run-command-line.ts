import { CommanderError } from 'commander';
import { CliCommand, type RegisterCommand, type ReportExitCode } from './terminal/cli-command.ts';
import { type CommandContext, CommandFailure, type ExitCode } from './terminal/command-context.ts';
import { packageVersion } from './terminal/package-version.ts';
import { helpHint, usageError } from './terminal/usage-error.ts';

/** A subcommand: what the help of the program says of it, and what is loaded when it is called. */
interface Subcommand {
  readonly name: string;
  readonly helpGroup: string;
  readonly summary: string;
  readonly load: () => Promise<RegisterCommand>;
}

const subcommands: readonly Subcommand[] = [
  {
    name: 'serve',
    helpGroup: 'Run:',
    summary: 'Run the router',
    load: async () => (await import('./serve/serve-command.ts')).registerServe,
  },
  {
    name: 'sync',
    helpGroup: 'Run:',
    summary: 'Read what API servers serve, and push it to routers',
    load: async () => (await import('./sync/sync-command.ts')).registerSync,
  },
  {
    name: 'explain',
    helpGroup: 'Inspect:',
    summary: 'Say where a request would go, and why',
    load: async () => (await import('./explain/explain-command.ts')).registerExplain,
  },
  {
    name: 'status',
    helpGroup: 'Inspect:',
    summary: 'Show what a running router knows',
    load: async () => (await import('./status/register-status.ts')).registerStatus,
  },
  {
    name: 'doctor',
    helpGroup: 'Inspect:',
    summary: 'Check a router and what it needs, where it runs',
    load: async () => (await import('./doctor/register-doctor.ts')).registerDoctor,
  },
  {
    name: 'install',
    helpGroup: 'Set up:',
    summary: 'Put a router on this kubeadm node, or take it off again',
    load: async () => (await import('./install/register-install.ts')).registerInstall,
  },
  {
    name: 'keygen',
    helpGroup: 'Set up:',
    summary: 'Make a key pair for signing snapshots or assertions',
    load: async () => (await import('./commands/keygen.ts')).registerKeygen,
  },
  {
    name: 'completion',
    helpGroup: 'Other commands:',
    summary: 'Print a script with which a shell completes this command',
    load: async () => (await import('./completion/register-completion.ts')).registerCompletion,
  },
  {
    name: 'version',
    helpGroup: 'Other commands:',
    summary: 'Print the version',
    load: async () => (await import('./terminal/version.ts')).registerVersion,
  },
];

/** Runs one command line. Never throws for bad input; errors are on standard error. */
export async function runCommandLine(given: readonly string[], context: CommandContext): Promise<ExitCode> {
  let code: ExitCode = 0;
  let help = '';
  const report: ReportExitCode = (reported) => {
    code = reported;
  };
  const showHelp = (text: string): void => {
    help += text;
  };
  // Called without anything, it explains itself, as kubectl does.
  const args = helpAsFlag(given);
  try {
    const program = await programFor(args, (called) => createProgram(context, report, showHelp, called));
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    code = exitCodeOf(error, context);
  }
  if (help !== '') await context.writeOutput(help);
  return code;
}

/** The error about an unknown flag names the commands that have the flag, and completion knows them all. */
async function programFor(
  args: readonly string[],
  create: (needed?: string) => Promise<CliCommand>,
): Promise<CliCommand> {
  const [called = ''] = args;
  if (called === 'completion') return create();
  const program = await create(called);
  const command = program.commands.find((known) => known.name() === called) ?? program;
  const known = new Set(['--help', '--version', ...command.options.map(({ long }) => long)]);
  const hasUnknown = args.some((word) => word.startsWith('--') && !known.has(word.split('=', 1)[0]));
  return hasUnknown ? create() : program;
}

/** `help nosuch` is as wrong as `nosuch`; left to commander, it would print the help of the whole program. */
function helpAsFlag(args: readonly string[]): readonly string[] {
  const [command, topic] = args;
  if (command === undefined) return ['--help'];
  if (command !== 'help' || topic === undefined || topic.startsWith('-')) return args;
  const isKnown = subcommands.some(({ name }) => name === topic);
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
 * The command line.
 * @param showHelp gets help and version, which a command line that only asks for them ends with
 * @param needed the subcommand that is given its flags, for each one's code takes time to load. Default: all
 */
export async function createProgram(
  context: CommandContext,
  report: ReportExitCode,
  showHelp: (text: string) => void,
  needed?: string,
): Promise<CliCommand> {
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
  for (const { name, helpGroup, summary, load } of subcommands) {
    const command = program.command(name).helpGroup(helpGroup).summary(summary);
    if (needed === undefined || needed === name) (await load())(command, context, report);
  }
  return program;
}
