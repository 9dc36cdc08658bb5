import { descriptionOf, type Setting, settingsOf } from '../../node/configuration/setting.ts';
import type { Command, Example } from './command.ts';
import { wrapped } from './styled-text.ts';

export type Row = readonly [name: string, description: string];

const helpFlag = flagText('    -h, --help:', 'Print help for a command.');

/** The help of the program: its commands in groups. Pure. */
export function programHelp(
  description: string,
  groups: ReadonlyMap<string, readonly Row[]>,
  width: number,
): string {
  const all = [...groups.values()].flat();
  return sections([
    paragraph(description, width),
    ...[...groups].map(([heading, rows]) => `${heading}\n${columns(rows, all, width)}`),
    `Flags:\n${flagText('    --version:', 'Print the version.')}\n${helpFlag}`,
    'Usage:\n  mixed-version-proxy <command> [flags]',
    'Use "mixed-version-proxy <command> --help" for more about a command.',
  ]);
}

/** The help of a command, as kubectl has it: what it does, examples, flags in groups, usage. Pure. */
export function commandHelp(name: string, command: Command, width: number): string {
  const { description, examples = [], arguments: taken = [] } = command;
  const usage = taken.map((argument) =>
    argument.isRequired ? ` <${argument.name}>` : ` [${argument.name}]`,
  );
  const rows = taken.map((argument): Row => {
    const choices = argument.choices === undefined ? '' : ` One of ${argument.choices.join(', ')}.`;
    return [argument.name, `${argument.description}${choices}`];
  });
  const flags = new Map(
    flagGroups(command).map(([heading, settings]) => [
      heading,
      settings.map((each) => settingText(each, width)),
    ]),
  );
  flags.set('Flags:', [...(flags.get('Flags:') ?? []), helpFlag]);
  return sections([
    paragraph(description, width),
    ...(examples.length === 0
      ? []
      : [`Examples:\n${examples.map((example) => exampleText(example, width)).join('\n\n')}`]),
    ...(rows.length === 0 ? [] : [`Arguments:\n${columns(rows, rows, width)}`]),
    ...[...flags].map(([heading, texts]) => `${heading}\n${texts.join('\n')}`),
    `Usage:\n  mixed-version-proxy ${name} [flags]${usage.join('')}`,
  ]);
}

/** A command's flags under their headings: first what most calls need. */
export function flagGroups({ flags }: Command): readonly (readonly [string, readonly Setting[]])[] {
  const settings = flags.flatMap((section) => settingsOf(section));
  const headingOf = ({ about, heading }: Setting) =>
    about.isCommon ? 'Flags that most calls need:' : heading;
  const byHeading = Map.groupBy(settings, headingOf);
  return [...byHeading].sort(([, [one]], [, [other]]) => rank(one) - rank(other));
}

function rank(first: Setting | undefined): number {
  return first?.about.isCommon ? 0 : 1;
}

export function flagTerm({ flag, takes: { placeholder }, about: { short } }: Setting): string {
  return `${short === undefined ? '' : `-${short}, `}--${flag}${placeholder === '' ? '' : ` <${placeholder}>`}`;
}

function settingText(setting: Setting, width: number): string {
  return flagText(`    ${flagTerm(setting)}:`, descriptionOf(setting.about), width);
}

/** Flags are too long for a column of their own: each stands above what it does. */
function flagText(term: string, description: string, width = 80): string {
  return `${term}\n${paragraph(description, width, ' '.repeat(8))}`;
}

function columns(rows: readonly Row[], all: readonly Row[], width: number): string {
  const first = Math.max(...all.map(([name]) => name.length)) + 4;
  return rows
    .map(
      ([name, description]) =>
        `  ${name}`.padEnd(first) + paragraph(description, width, ' '.repeat(first)).trimStart(),
    )
    .join('\n');
}

function sections(texts: readonly string[]): string {
  return `${texts.join('\n\n')}\n`;
}

function paragraph(text: string, width: number, indent = ''): string {
  return wrapped(text, width - indent.length)
    .map((line) => `${indent}${line}`)
    .join('\n');
}

/** An example as it can be pasted into a shell. Pure. */
function exampleText({ comment, line }: Example, width: number): string {
  return `${paragraph(comment, width, '  # ')}\n  mixed-version-proxy ${[line].flat().join(' \\\n      ')}`;
}
