import type { CompletedCommand, CompletedFlag, CompletedValue } from './command-model.ts';
import { firstSentence } from './completion-text.ts';

/** A script for fish, such as for ~/.config/fish/completions/mixed-version-proxy.fish. */
export function fishCompletion(commands: readonly CompletedCommand[]): string {
  const lines = commands.flatMap((command) => [
    `${complete} -n __fish_use_subcommand -a ${command.name} -d ${quotedForFish(command.summary)}`,
    ...(command.argument.kind === 'none'
      ? []
      : [`${complete} ${within(command)} ${argument(command.argument)}`]),
    ...command.flags.map((flag) => flagLine(command, flag)),
  ]);
  return `# fish completion for mixed-version-proxy\n${complete} -f\n${lines.join('\n')}\n`;
}

const complete = 'complete -c mixed-version-proxy';

function within({ name }: CompletedCommand): string {
  return `-n '__fish_seen_subcommand_from ${name}'`;
}

function flagLine(command: CompletedCommand, { long, short, description, value }: CompletedFlag): string {
  const names = `-l ${long.slice(2)}${short === undefined ? '' : ` -s ${short.slice(1)}`}`;
  const behind = value.kind === 'none' ? '' : ` ${flagValue(value)}`;
  return `${complete} ${within(command)} ${names}${behind} -d ${quotedForFish(firstSentence(description))}`;
}

/** `-x`: a value is needed, and files are none; `-r -F`: a value is needed, and files are. */
function flagValue(value: CompletedValue): string {
  switch (value.kind) {
    case 'choice':
      return `-x -a '${value.choices.join(' ')}'`;
    case 'file':
      return '-r -F';
    case 'directory':
      return "-x -a '(__fish_complete_directories)'";
    default:
      return '-x';
  }
}

function argument(value: CompletedValue): string {
  if (value.kind === 'choice') return `-a '${value.choices.join(' ')}'`;
  return value.kind === 'file' ? '-F' : '-f';
}

/** fish reads a backslash in single quotes only before another one and before a quote. */
function quotedForFish(text: string): string {
  return `'${text.replaceAll(/[\\']/g, '\\$&')}'`;
}
