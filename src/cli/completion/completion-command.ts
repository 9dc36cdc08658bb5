import type { Setting } from '../../node/configuration/setting.ts';
import { section } from '../../node/configuration/setting-types.ts';
import { type Argument, type Command, flagsOf, helpHint, type Subcommand } from '../terminal/command.ts';
import { CommandFailure } from '../terminal/command-context.ts';

export function completionCommand(subcommands: readonly Subcommand[]): Command {
  return {
    description:
      'Print a script with which a shell completes commands, flags, and the values of flags that have a fixed set of them.',
    examples: [
      {
        comment: 'In bash, for this session.',
        line: 'completion bash > completion.sh && source completion.sh',
      },
    ],
    arguments: [{ name: 'shell', description: 'The shell.', choices: ['bash', 'zsh'], isRequired: true }],
    flags: [section('Flags:', {})],
    async run({ words: [shell], issues }, context) {
      if (issues.length > 0) throw new CommandFailure(2, issues, { hint: helpHint });
      const commands = await Promise.all(subcommands.map(completed));
      const help: CompletedCommand = {
        name: 'help',
        flags: [],
        argument: { kind: 'choice', choices: subcommands.map(({ name }) => name) },
      };
      const script = bashCompletion([...commands, help]);
      await context.writeOutput(shell === 'zsh' ? `${bashInZsh}${script}` : script);
      return 0;
    },
  };
}

/** What can stand in a place of the command line. `none`: nothing does, `text`: anything. */
type CompletedValue =
  | { readonly kind: 'none' | 'text' | 'file' | 'directory' }
  | { readonly kind: 'choice'; readonly choices: readonly string[] };

interface CompletedFlag {
  /** One, or two with the short one. */
  readonly spellings: readonly [long: string, short?: string];
  readonly value: CompletedValue;
  /** It may stand alone: a boolean flag means true then. */
  readonly isValueOptional: boolean;
}

interface CompletedCommand {
  readonly name: string;
  readonly flags: readonly CompletedFlag[];
  /** The first argument; the others are completed like it. */
  readonly argument: CompletedValue;
}

async function completed({ name, load }: Subcommand): Promise<CompletedCommand> {
  const command = await load();
  const flags = [...flagsOf(command).map(completedFlag), helpFlag];
  return { name, flags, argument: valueOfArgument(command.arguments?.[0]) };
}

const helpFlag: CompletedFlag = {
  spellings: ['--help', '-h'],
  value: { kind: 'none' },
  isValueOptional: false,
};

function completedFlag({ flag, takes: { placeholder, choices }, about }: Setting): CompletedFlag {
  const isBoolean = placeholder === '';
  return {
    spellings: about.short === undefined ? [`--${flag}`] : [`--${flag}`, `-${about.short}`],
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

const bashInZsh = 'autoload -U +X bashcompinit && bashcompinit\n';

/** For bash 4 and later, and for zsh. Names of commands, flags and choices hold nothing that a shell would read. */
function bashCompletion(commands: readonly CompletedCommand[]): string {
  return `# completion for mixed-version-proxy
_mixed_version_proxy_offer() {
  local word
  while read -r word; do COMPREPLY+=("$prefix$word"); done < <(compgen "$@" -- "$current")
}
_mixed_version_proxy() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" command="\${COMP_WORDS[1]}" prefix='' IFS=$'\\n'
  COMPREPLY=()
  # bash makes a word of its own of the = in --flag=value, zsh does not.
  if [[ $current == '=' ]]; then
    current=''
  elif [[ $previous == '=' ]]; then
    previous="\${COMP_WORDS[COMP_CWORD-2]}"
  elif [[ $current == --*=* ]]; then
    previous="\${current%%=*}" prefix="\${current%%=*}=" current="\${current#*=}"
  fi
  if ((COMP_CWORD == 1)); then
    ${oneOf(commands.map(({ name }) => name))}
    return
  fi
  case "$command $previous" in
${commands.flatMap(flagCases).join('\n')}
  esac
  if [[ $current == -* ]]; then
    case "$command" in
${commands.map(({ name, flags }) => `      ${name}) ${oneOf(flags.map(({ spellings }) => spellings[0]))} ;;`).join('\n')}
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

/** A line for each: files have spaces in their names. */
function oneOf(words: readonly string[]): string {
  return `_mixed_version_proxy_offer -W $'${words.join('\\n')}'`;
}

function flagCases({ name, flags }: CompletedCommand): readonly string[] {
  return flags.flatMap(({ spellings, value, isValueOptional }) => {
    const patterns = spellings.map((flag) => `'${name} ${flag}'`);
    if (!isValueOptional) return valueCase(patterns, value);
    // What begins with a dash is the next flag.
    return [`    ${patterns.join(' | ')}) if [[ $current != -* ]]; then ${replyWith(value)} return; fi ;;`];
  });
}

function valueCase(patterns: readonly string[], value: CompletedValue): readonly string[] {
  return value.kind === 'none' ? [] : [`    ${patterns.join(' | ')}) ${replyWith(value)} return ;;`];
}

function replyWith(value: CompletedValue): string {
  if (value.kind === 'choice') return `${oneOf(value.choices)};`;
  if (value.kind !== 'file' && value.kind !== 'directory') return '';
  const action = value.kind === 'file' ? '-f' : '-d';
  return `compopt -o filenames 2>/dev/null; _mixed_version_proxy_offer ${action};`;
}
