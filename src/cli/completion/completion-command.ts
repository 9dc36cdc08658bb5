import type { Setting } from '../../node/configuration/setting.ts';
import { section } from '../../node/configuration/setting-types.ts';
import { type Command, flagsOf, helpHint, type Subcommand } from '../terminal/command.ts';
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
      { comment: 'In fish.', line: 'completion fish | source' },
    ],
    arguments: [
      { name: 'shell', description: 'The shell.', choices: ['bash', 'zsh', 'fish'], isRequired: true },
    ],
    flags: [section('Flags:', {})],
    async run({ words: [shell], issues }, context) {
      if (issues.length > 0) throw new CommandFailure(2, issues, { hint: helpHint });
      const commands = await Promise.all(
        subcommands.map(async ({ name, load }) => ({ name, command: await load() })),
      );
      const script = shell === 'fish' ? fishCompletion(commands) : bashCompletion(commands);
      await context.writeOutput(shell === 'zsh' ? `${bashInZsh}${script}` : script);
      return 0;
    },
  };
}

const bashInZsh = 'autoload -U +X bashcompinit && bashcompinit\n';

interface NamedCommand {
  readonly name: string;
  readonly command: Command;
}

/** For bash 4 and later, and for zsh. Names of commands, flags and choices hold nothing that a shell would read. */
function bashCompletion(commands: readonly NamedCommand[]): string {
  const names = commands.map(({ name }) => name);
  const values = commands.flatMap(({ name, command }) =>
    flagsOf(command).map((setting) => flagCase(name, setting)),
  );
  const flags = commands.map(({ name, command }) => {
    const known = flagsOf(command).map(({ flag }) => `--${flag}`);
    return `      ${name}) ${oneOf([...known, '--help'])} ;;`;
  });
  // The first argument; the others are completed like it.
  const words = commands.map(({ name, command: { arguments: [first] = [] } }) => {
    return `    ${name}) ${first === undefined ? '' : replyWith(first.name, first.choices)} ;;`;
  });
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
    ${oneOf([...names, 'help'])}
    return
  fi
  case "$command $previous" in
${values.join('\n')}
  esac
  if [[ $current == -* ]]; then
    case "$command" in
${flags.join('\n')}
    esac
    return
  fi
  case "$command" in
    help) ${oneOf(names)} ;;
${words.join('\n')}
  esac
}
complete -F _mixed_version_proxy mixed-version-proxy
`;
}

/** A line for each: files have spaces in their names. */
function oneOf(words: readonly string[]): string {
  return `_mixed_version_proxy_offer -W $'${words.join('\\n')}'`;
}

function flagCase(
  name: string,
  { flag, takes: { placeholder, choices }, about: { short } }: Setting,
): string {
  const spellings = [`--${flag}`, ...(short === undefined ? [] : [`-${short}`])];
  const pattern = spellings.map((spelling) => `'${name} ${spelling}'`).join(' | ');
  if (placeholder !== '') return `    ${pattern}) ${replyWith(placeholder, choices)} return ;;`;
  // A boolean flag may stand alone: what begins with a dash is the next one.
  return `    ${pattern}) if [[ $current != -* ]]; then ${oneOf(['true', 'false'])}; return; fi ;;`;
}

/** @param placeholder of a flag, or the name of an argument */
function replyWith(placeholder: string, choices: readonly string[] | undefined): string {
  if (choices !== undefined) return `${oneOf(choices)};`;
  if (placeholder !== 'file' && placeholder !== 'directory') return '';
  const action = placeholder === 'file' ? '-f' : '-d';
  return `compopt -o filenames 2>/dev/null; _mixed_version_proxy_offer ${action};`;
}

/** Names of commands, flags and choices hold nothing that a shell would read. */
function fishCompletion(commands: readonly NamedCommand[]): string {
  const names = commands.map(({ name }) => name).join(' ');
  const ofCommand = commands.flatMap(({ name, command }) => {
    const when = `-n '__fish_seen_subcommand_from ${name}'`;
    const [argument] = command.arguments ?? [];
    return [
      ...(argument?.choices === undefined ? [] : [`${when} -a '${argument.choices.join(' ')}'`]),
      `${when} -l help -s h`,
      ...flagsOf(command).map(({ flag, takes: { placeholder, choices }, about: { short } }) => {
        const letter = short === undefined ? '' : ` -s ${short}`;
        return `${when} -l ${flag}${letter}${fishValue(placeholder, choices)}`;
      }),
    ];
  });
  return [
    `-f`,
    `-n __fish_use_subcommand -a '${names} help'`,
    `-n '__fish_seen_subcommand_from help' -a '${names}'`,
    ...ofCommand,
  ]
    .map((line) => `complete -c mixed-version-proxy ${line}\n`)
    .join('');
}

function fishValue(placeholder: string, choices: readonly string[] | undefined): string {
  if (choices !== undefined) return ` -x -a '${choices.join(' ')}'`;
  if (placeholder === 'file') return ' -r -F';
  if (placeholder === 'directory') return " -x -a '(__fish_complete_directories (commandline -ct))'";
  // A boolean flag stands alone.
  return placeholder === '' ? '' : ' -x';
}
