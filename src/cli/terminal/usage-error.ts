import type { Command } from 'commander';

const inWords = new Intl.ListFormat('en-GB', { type: 'conjunction' });

/** Commander's messages about a wrong call, and the words that the messages of this program have for the same. */
const wordings: readonly (readonly [RegExp, string])[] = [
  [/^missing required argument '(.*?)'/, '$1 is required'],
  [/^required option '.*?(--[\w-]+).*?' not specified/, '$1 is required'],
  [/^option '.*?(--[\w-]+).*?' argument missing/, '$1 needs a value'],
  [
    /^option '.*?(--[\w-]+).*?' argument '(.*)' is invalid\. Allowed choices are (.*)\./s,
    '$1 must be one of $3, not "$2"',
  ],
  [
    /^command-argument value '(.*)' is invalid for argument '(.*?)'\. Allowed choices are (.*)\./s,
    '$2 must be one of $3, not "$1"',
  ],
  // What a flag's own parser says (InvalidArgumentError) begins with `must be`.
  [/^option '.*?(--[\w-]+).*?' argument '(.*)' is invalid\. (.*)/s, '$1 $3, not "$2"'],
  [/^too many arguments for '(.*?)'\. Expected 0 .*/, '$1 takes no arguments'],
  [/^too many arguments for '(.*?)'\. Expected (.*) but got (\d+)\./, '$1 takes $2, not $3'],
  // What is unknown is the flag with a value.
  [/^unknown option '(--[\w-]+)=.*'\n\(Did you mean \1\?\)/s, '$1 takes no value'],
  [/^unknown option '(.*?)(?:=.*)?'/s, 'unknown flag $1'],
  [/^unknown command '(.*)'/s, 'unknown command $1'],
  [/\n\(Did you mean (.*)\?\)/, ': did you mean $1?'],
];

/** Stands behind every usage error. */
export const helpHint = 'Run it with --help for its flags and examples.';

/** An error of commander, met by a command of `program`, in the words of the other messages. Pure. */
export function usageError(text: string, program: Command): string {
  const message = text.replace(/^error: /, '').trimEnd();
  const reworded = wordings.reduce((known, [pattern, wording]) => known.replace(pattern, wording), message);
  const [, unknown] = /^unknown flag (\S+)$/.exec(reworded) ?? [];
  return `error: ${reworded}${unknown === undefined ? '' : whoseFlag(unknown, program)}\n`;
}

/** What to add to the error about a flag that is unknown where it was given: which commands have it. */
export function whoseFlag(flag: string, program: Command | null): string {
  const commands = program?.commands ?? [];
  const owners = commands.filter(({ options }) =>
    options.some(({ long, hidden }) => long === flag && !hidden),
  );
  return owners.length === 0 ? '' : `; it is a flag of ${inWords.format(owners.map((each) => each.name()))}`;
}
