import { errorCode } from '../runtime/errors.ts';
import type { Subcommand } from './terminal/command.ts';
import { type CommandContext, CommandFailure, type ExitCode } from './terminal/command-context.ts';
import type { Row } from './terminal/help.ts';
import { packageVersion } from './terminal/package-version.ts';
import { similarName } from './terminal/similar-name.ts';

export const subcommands: readonly Subcommand[] = [
  {
    name: 'serve',
    group: 'Run:',
    summary: 'Run the router',
    load: async () => (await import('./serve/serve-command.ts')).serveCommand(),
  },
  {
    name: 'sync',
    group: 'Run:',
    summary: 'Read what API servers serve, and push it to routers',
    load: async () => (await import('./sync/sync-command.ts')).syncCommand,
  },
  {
    name: 'explain',
    group: 'Inspect:',
    summary: 'Say where a request would go, and why',
    load: async () => (await import('./explain/explain-command.ts')).explainCommand,
  },
  {
    name: 'status',
    group: 'Inspect:',
    summary: 'Show what a running router knows',
    load: async () => (await import('./status/status-command.ts')).statusCommand,
  },
  {
    name: 'doctor',
    group: 'Inspect:',
    summary: 'Check a router and what it needs, where it runs',
    load: async () => (await import('./doctor/doctor-command.ts')).doctorCommand,
  },
  {
    name: 'install',
    group: 'Set up:',
    summary: 'Put a router on this kubeadm node, or take it off again',
    load: async () => (await import('./install/install-command.ts')).installCommand(),
  },
  {
    name: 'keygen',
    group: 'Set up:',
    summary: 'Make a key pair for signing snapshots or assertions',
    load: async () => (await import('./commands/keygen.ts')).keygenCommand,
  },
  {
    name: 'completion',
    group: 'Other commands:',
    summary: 'Print a script with which a shell completes this command',
    load: async () => (await import('./completion/completion-command.ts')).completionCommand(subcommands),
  },
  {
    name: 'version',
    group: 'Other commands:',
    summary: 'Print the version',
    load: async () => (await import('./commands/version.ts')).versionCommand,
  },
];

/** Runs one command line. Never throws for bad input; errors are on standard error. */
export async function runCommandLine(args: readonly string[], context: CommandContext): Promise<ExitCode> {
  try {
    return await run(args, context);
  } catch (error) {
    if (error instanceof CommandFailure) {
      for (const line of error.lines) context.writeError(`error: ${line}\n`);
      if (error.hint !== undefined) context.writeError(`${error.hint}\n`);
      return error.exitCode;
    }
    // The reader of the output has seen enough (`… | head`).
    if (errorCode(error) === 'EPIPE') return 0;
    throw error;
  }
}

async function run(args: readonly string[], context: CommandContext): Promise<ExitCode> {
  // `help explain` is `explain --help`.
  const [first, ...rest] =
    args[0] === 'help' && args[1]?.startsWith('-') === false ? [args[1], '--help'] : args;
  const called = subcommands.find(({ name }) => name === first);
  if (called === undefined) return runWithoutCommand(first, context);
  // Only what is called is loaded: that takes time.
  const [command, { parseArguments }] = await Promise.all([called.load(), import('./terminal/command.ts')]);
  const given = parseArguments(rest, called.name, command);
  if (given !== 'help') return command.run(given, context);
  const { commandHelp } = await import('./terminal/help.ts');
  await context.writeOutput(commandHelp(called.name, command, context.outputWidth()));
  return 0;
}

/** Called without anything, the program explains itself, as kubectl does. */
async function runWithoutCommand(first = '--help', context: CommandContext): Promise<ExitCode> {
  if (first === '--version') {
    await context.writeOutput(`${packageVersion()}\n`);
    return 0;
  }
  const { programHelp } = await import('./terminal/help.ts');
  if (!['help', '--help', '-h'].includes(first)) {
    const { helpHint } = await import('./terminal/command.ts');
    const similar = similarName(first, [...subcommands.map(({ name }) => name), 'help']);
    const suggestion = similar === undefined ? '' : `: did you mean ${similar}?`;
    const what = first.startsWith('-') ? 'flag' : 'command';
    throw new CommandFailure(2, [`unknown ${what} ${first}${suggestion}`], { hint: helpHint });
  }
  const groups = Map.groupBy<string, Row>(
    [...subcommands.map(({ name, summary }): Row => [name, summary]), ['help', 'Print help for a command']],
    ([name]) => subcommands.find((each) => each.name === name)?.group ?? 'Other commands:',
  );
  await context.writeOutput(programHelp(programDescription, groups, context.outputWidth()));
  return 0;
}

const programDescription =
  'Routes the requests of a Kubernetes cluster whose API servers run different versions: each one goes to a server that can serve it.';
