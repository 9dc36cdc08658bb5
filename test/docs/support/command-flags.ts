import { subcommands } from '../../../src/cli/run-command-line.ts';
import { flagsOf } from '../../../src/cli/terminal/command.ts';
import { wordsOf } from './command-lines.ts';

const programName = 'mixed-version-proxy';

/** Flags by subcommand, as the command line itself defines them; `''` are those of the program. */
async function flagsByCommand(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const ofCommands = subcommands.map(async ({ name, load }) => {
    const flags = flagsOf(await load()).map(({ flag }) => `--${flag}`);
    return [name, new Set(['--help', ...flags])] as const;
  });
  return new Map([
    ['', new Set(['--help', '--version'])],
    ['help', new Set<string>()],
    ...(await Promise.all(ofCommands)),
  ]);
}

const known = await flagsByCommand();
const allFlags = [...new Set([...known.values()].flatMap((flags) => [...flags]))];

/** True if a command has the flag. @param isBeginning `--requestheader-*` stands for several flags */
export function isOurFlag(flag: string, isBeginning: boolean): boolean {
  return allFlags.some((ours) => (isBeginning ? ours.startsWith(flag) : ours === flag));
}

/** Faults in the calls of mixed-version-proxy in one line for a shell; empty when there are none. */
export function faultsOfCalls(command: string): readonly string[] {
  return command.split(/[|;]|&&|[<$]\(/).flatMap((call) => {
    // Behind variables that are set for it, and behind what only starts it.
    const words = wordsOf(call);
    const at = words.findIndex((word) => !/^(\w+=.*|sudo|exec|npx)$/.test(word));
    const isOurs = words[at] === programName || words[at]?.endsWith(`/${programName}`) === true;
    return isOurs ? faultsOfArguments(words.slice(at + 1).map((word) => word.replace(/\)$/, ''))) : [];
  });
}

function faultsOfArguments(words: readonly string[]): readonly string[] {
  const [first = ''] = words;
  const name = first.startsWith('-') || first === '' ? '' : first;
  const flags = known.get(name);
  if (flags === undefined) return [`there is no command ${name}`];
  return words
    .filter((word) => word.startsWith('--'))
    .map((word) => word.split('=')[0] ?? word)
    .filter((flag) => !flags.has(flag))
    .map((flag) => `${name} has no flag ${flag}`);
}
