import type { Setting } from '../../node/configuration/setting.ts';
import { section } from '../../node/configuration/setting-types.ts';
import { type Argument, type Command, flagsOf, helpHint, type Subcommand } from '../terminal/command.ts';
import { CommandFailure } from '../terminal/command-context.ts';

const scripts = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;
const shells = ['bash', 'zsh', 'fish'] as const;

export function completionCommand(subcommands: readonly Subcommand[]): Command {
  return {
    description:
      'Print a script with which a shell completes commands, flags, and the values of flags that have a fixed set of them.',
    examples: [
      {
        comment: 'In bash, for this session.',
        line: 'completion bash > completion.sh && source completion.sh',
      },
      {
        comment: 'In fish, for good.',
        line: ['completion fish >', '~/.config/fish/completions/mixed-version-proxy.fish'],
      },
    ],
    arguments: [{ name: 'shell', description: 'The shell.', choices: shells, isRequired: true }],
    flags: [section('Flags:', {})],
    async run({ words, issues }, context) {
      const shell = shells.find((each) => each === words[0]);
      if (issues.length > 0 || shell === undefined) throw new CommandFailure(2, issues, { hint: helpHint });
      const commands = await Promise.all(subcommands.map(completed));
      const names = subcommands.map(({ name }) => name);
      const help = { name: 'help', summary: 'Print help for a command', flags: [] };
      await context.writeOutput(
        scripts[shell]([...commands, { ...help, argument: { kind: 'choice', choices: names } }]),
      );
      return 0;
    },
  };
}

/** What can stand in a place of the command line. `none`: nothing does, `text`: anything. */
type CompletedValue =
  | { readonly kind: 'none' | 'text' | 'file' | 'directory' }
  | { readonly kind: 'choice'; readonly choices: readonly string[] };

interface CompletedFlag {
  readonly long: string;
  readonly short: string | undefined;
  readonly description: string;
  readonly value: CompletedValue;
  /** It may stand alone: a boolean flag means true then. */
  readonly isValueOptional: boolean;
}

interface CompletedCommand {
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly CompletedFlag[];
  /** The first argument; the others are completed like it. */
  readonly argument: CompletedValue;
}

async function completed({ name, summary, load }: Subcommand): Promise<CompletedCommand> {
  const command = await load();
  const flags = [...flagsOf(command).map(completedFlag), helpFlag];
  return { name, summary, flags, argument: valueOfArgument(command.arguments?.[0]) };
}

const helpFlag: CompletedFlag = {
  long: '--help',
  short: '-h',
  description: 'Print help for a command.',
  value: { kind: 'none' },
  isValueOptional: false,
};

function completedFlag({ flag, takes: { placeholder, choices }, about }: Setting): CompletedFlag {
  const isBoolean = placeholder === '';
  return {
    long: `--${flag}`,
    short: about.short === undefined ? undefined : `-${about.short}`,
    description: about.description,
    value: completedValue(placeholder, isBoolean ? ['true', 'false'] : choices),
    isValueOptional: isBoolean,
  };
}

function valueOfArgument(argument: Argument | undefined): CompletedValue {
  return argument === undefined ? { kind: 'none' } : completedValue(argument.name, argument.choices);
}

function completedValue(placeholder: string, choices: readonly string[] | undefined): CompletedValue {
  if (choices !== undefined) return { kind: 'choice', choices };
  return { kind: placeholder === 'file' || placeholder === 'directory' ? placeholder : 'text' };
}

/** What a shell shows for a flag: there is room for one sentence. */
function firstSentence(text: string): string {
  return /^.*?[^.]\.(?=\s|$)/s.exec(text)?.[0] ?? text;
}

function quotedForShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** A script for bash 4 and later. Names of commands, flags and choices hold nothing that a shell would read. */
function bashCompletion(commands: readonly CompletedCommand[]): string {
  const names = commands.map(({ name }) => name).join(' ');
  return `# bash completion for mixed-version-proxy
_mixed_version_proxy() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" command="\${COMP_WORDS[1]}"
  COMPREPLY=()
  # bash makes a word of its own of the = in --flag=value.
  if [[ $current == '=' ]]; then
    current=''
  elif [[ $previous == '=' ]]; then
    previous="\${COMP_WORDS[COMP_CWORD-2]}"
  fi
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W '${names}' -- "$current")
    return
  fi
  case "$command $previous" in
${commands.flatMap(flagCases).join('\n')}
  esac
  if [[ $current == -* ]]; then
    case "$command" in
${commands.map(flagNames).join('\n')}
    esac
    return
  fi
  case "$command" in
${commands.flatMap(({ name, argument }) => valueCase([name], argument)).join('\n')}
  esac
}
complete -F _mixed_version_proxy mixed-version-proxy
`;
}

function flagCases({ name, flags }: CompletedCommand): readonly string[] {
  return flags.flatMap(({ long, short, value, isValueOptional }) => {
    const spellings = short === undefined ? [long] : [long, short];
    const patterns = spellings.map((flag) => `'${name} ${flag}'`);
    if (!isValueOptional) return valueCase(patterns, value);
    // What begins with a dash is the next flag.
    return [`    ${patterns.join(' | ')}) if [[ $current != -* ]]; then${replyWith(value)} return; fi ;;`];
  });
}

function valueCase(patterns: readonly string[], value: CompletedValue): readonly string[] {
  return value.kind === 'none' ? [] : [`    ${patterns.join(' | ')})${replyWith(value)} return ;;`];
}

function replyWith(value: CompletedValue): string {
  switch (value.kind) {
    case 'choice':
      return ` mapfile -t COMPREPLY < <(compgen -W '${value.choices.join(' ')}' -- "$current");`;
    case 'file':
      return ' compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$current");';
    case 'directory':
      return ' compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$current");';
    default:
      return '';
  }
}

function flagNames({ name, flags }: CompletedCommand): string {
  const names = flags.map(({ long }) => long).join(' ');
  return `      ${name}) mapfile -t COMPREPLY < <(compgen -W '${names}' -- "$current") ;;`;
}

/** A script for zsh: to be sourced, or put into a folder of $fpath as _mixed-version-proxy. */
function zshCompletion(commands: readonly CompletedCommand[]): string {
  const described = commands.map(({ name, summary }) => `    ${quotedForShell(`${name}:${summary}`)}`);
  return `#compdef mixed-version-proxy
_mixed_version_proxy() {
  local -a commands
  commands=(
${described.join('\n')}
  )
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  shift words
  ((CURRENT--))
  case $words[1] in
${commands.map(commandCase).join('\n')}
  esac
}
if [[ $funcstack[1] == _mixed-version-proxy ]]; then
  _mixed_version_proxy "$@"
else
  compdef _mixed_version_proxy mixed-version-proxy
fi
`;
}

function commandCase({ name, flags, argument }: CompletedCommand): string {
  const specifications = flags.flatMap(flagSpecifications);
  if (argument.kind !== 'none') specifications.push(`*:${name}:${action(argument)}`);
  const lines = specifications.map((specification) => ` \\\n        ${quotedForShell(specification)}`);
  return `    ${name})\n      _arguments -s${lines.join('')}\n      ;;`;
}

/** `*`: a flag may be repeated. `=`: its value follows a = or is the next word. `::`: it may be left out. */
function flagSpecifications(flag: CompletedFlag): string[] {
  const { long, short, description, value, isValueOptional } = flag;
  const text = `[${firstSentence(description).replaceAll(/[\\[\]]/g, '\\$&')}]`;
  const behind = value.kind === 'none' ? '' : `${isValueOptional ? '::' : ':'}value:${action(value)}`;
  const spellings = [value.kind === 'none' ? long : `${long}=`, ...(short === undefined ? [] : [short])];
  return spellings.map((spelling) => `*${spelling}${text}${behind}`);
}

function action(value: CompletedValue): string {
  switch (value.kind) {
    case 'choice':
      return `(${value.choices.join(' ')})`;
    case 'file':
      return '_files';
    case 'directory':
      return '_files -/';
    default:
      return ' ';
  }
}

/** A script for fish, such as for ~/.config/fish/completions/mixed-version-proxy.fish. */
function fishCompletion(commands: readonly CompletedCommand[]): string {
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
