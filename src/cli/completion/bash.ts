import type { CompletedCommand, CompletedValue } from './command-model.ts';

/** A script for bash 4 and later. Names of commands, flags and choices hold nothing that a shell would read. */
export function bashCompletion(commands: readonly CompletedCommand[]): string {
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
