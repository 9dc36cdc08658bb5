import { Argument } from 'commander';
import type { CliCommand, ReportExitCode } from '../terminal/cli-command.ts';
import type { CommandContext } from '../terminal/command-context.ts';
import { bashCompletion } from './bash.ts';
import { commandModel } from './command-model.ts';
import { fishCompletion } from './fish.ts';
import { zshCompletion } from './zsh.ts';

const scripts = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;

export function registerCompletion(
  program: CliCommand,
  context: CommandContext,
  report: ReportExitCode,
): void {
  program
    .command('completion')
    .helpGroup('Other commands:')
    .summary('Print a script with which a shell completes this command')
    .description(
      'Print a script with which a shell completes commands, flags, and the values of flags that have a fixed set of them.',
    )
    .examples(
      {
        comment: 'In bash, for this session.',
        line: 'completion bash > completion.sh && source completion.sh',
      },
      {
        comment: 'In fish, for good.',
        line: 'completion fish > ~/.config/fish/completions/mixed-version-proxy.fish',
      },
    )
    .addArgument(new Argument('<shell>', 'The shell.').choices(Object.keys(scripts)))
    .action(async (shell: keyof typeof scripts) => {
      await context.writeOutput(scripts[shell](commandModel(program)));
      report(0);
    });
}
