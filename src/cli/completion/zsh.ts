import type { CompletedCommand, CompletedFlag, CompletedValue } from './command-model.ts';
import { firstSentence, quotedForShell } from './completion-text.ts';

/** A script for zsh: to be sourced, or put into a folder of $fpath as _mixed-version-proxy. */
export function zshCompletion(commands: readonly CompletedCommand[]): string {
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
