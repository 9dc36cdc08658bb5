import { type SectionSchema, type Setting, settingsOf } from '../../node/configuration/setting.ts';
import type { CommandContext, ExitCode } from './command-context.ts';
import { similarName } from './similar-name.ts';

export interface Command {
  readonly description: string;
  readonly examples?: readonly Example[];
  readonly arguments?: readonly Argument[];
  /** Its flags, in the order of its help. */
  readonly flags: readonly SectionSchema[];
  /** Flags that it takes as well, and that the help of another command has. */
  readonly otherFlags?: readonly SectionSchema[];
  run(given: GivenArguments, context: CommandContext): Promise<ExitCode>;
}

export interface Example {
  readonly comment: string;
  /** Without the program's name; in parts, one below the other, where it is longer than a terminal is wide. */
  readonly line: string | readonly string[];
}

export interface Argument {
  readonly name: string;
  readonly description: string;
  readonly choices?: readonly string[];
  readonly isRequired?: true;
}

export interface GivenArguments {
  readonly words: readonly string[];
  readonly flags: Readonly<Partial<Record<string, readonly string[]>>>;
  /** A line for each word and flag that nothing is known of, and for each that is missing. */
  readonly issues: readonly string[];
}

export interface Subcommand {
  readonly name: string;
  readonly group: string;
  readonly summary: string;
  readonly load: () => Promise<Command>;
}

export const helpHint = 'Run it with --help for its flags and examples.';

export function flagsOf({ flags, otherFlags = [] }: Command): readonly Setting[] {
  return [...flags, ...otherFlags].flatMap((section) => settingsOf(section));
}

export function parseArguments(
  args: readonly string[],
  name: string,
  command: Command,
): GivenArguments | 'help' {
  const known = flagsOf(command);
  const words: string[] = [];
  const unknown: string[] = [];
  const issues: string[] = [];
  const flags: Record<string, string[]> = {};
  const rest = [...args];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (arg === '--') {
      words.push(...rest.splice(0));
    } else if (!arg.startsWith('-') || arg === '-') {
      words.push(arg);
    } else if (arg === '--help' || arg === '-h') {
      return 'help';
    } else {
      // `-v=4`, as Kubernetes' own commands take it.
      const parts = arg.startsWith('--') ? /^([^=]*)(?:=(.*))?$/s : /^(..)(?:=(.*)|(.+))?$/s;
      const [, written = arg, inline, behind] = parts.exec(arg) ?? [];
      const setting = known.find(
        ({ flag, about }) => written === `--${flag}` || written === `-${about.short}`,
      );
      if (setting === undefined) {
        unknown.push(written);
        continue;
      }
      const value = inline ?? behind ?? nextValue(setting, rest);
      if (value === undefined) issues.push(`--${setting.flag} needs a value`);
      else flags[setting.flag] = [...(flags[setting.flag] ?? []), value];
    }
  }
  for (const flag of new Set(unknown)) {
    const similar = similarName(
      flag.replace(/^-+/, ''),
      known.map((each) => each.flag),
    );
    issues.push(`unknown flag ${flag}${similar === undefined ? '' : `: did you mean --${similar}?`}`);
  }
  // The value of an unknown flag follows it as a word, and is not named twice.
  if (unknown.length === 0) issues.push(...issuesOfWords(words, name, command));
  return { words, flags, issues };
}

/** A boolean flag alone means true. */
function nextValue({ takes }: Setting, rest: string[]): string | undefined {
  if (takes.placeholder !== '') return rest.shift();
  return rest[0] === 'true' || rest[0] === 'false' ? rest.shift() : 'true';
}

function issuesOfWords(
  words: readonly string[],
  name: string,
  { arguments: taken = [], flags }: Command,
): readonly string[] {
  if (taken.length === 0) {
    const hasFile = flags.some((section) => settingsOf(section).some(({ flag }) => flag === 'config'));
    return words.map((word) => {
      const isFile = hasFile && /\.(ya?ml|json)$/.test(word);
      const hint = isFile ? `; a configuration file is given as --config=${word}` : '';
      return `unexpected argument ${JSON.stringify(word)}: ${name} takes flags only${hint}`;
    });
  }
  const issues = taken.flatMap(({ name, choices, isRequired }, index) => {
    const word = words[index];
    if (word === undefined)
      return isRequired
        ? [`${name} is required${choices === undefined ? '' : `: ${choices.join(', ')}`}`]
        : [];
    if (choices === undefined || choices.includes(word)) return [];
    return [`${name} must be one of ${choices.join(', ')}, not ${JSON.stringify(word)}`];
  });
  if (words.length <= taken.length) return issues;
  const most = `${taken.length} argument${taken.length === 1 ? '' : 's'}`;
  return [...issues, `${name} takes ${most}, not ${words.length}`];
}
