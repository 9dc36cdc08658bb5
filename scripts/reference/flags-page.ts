import type { Option } from 'commander';
import type { FlagDefinition, TakesEffect } from '../../src/cli/flags/flag.ts';
import { serveFlags } from '../../src/cli/flags/serve-flags.ts';
import { syncFlags } from '../../src/cli/flags/sync-flag-groups.ts';
import { createProgram } from '../../src/cli/run-command-line.ts';
import { CliCommand } from '../../src/cli/terminal/cli-command.ts';
import { processContext } from '../../src/cli/terminal/command-context.ts';

/** docs/reference/flags.md, from the commands themselves. */
export function flagsPage(): string {
  const program = createProgram(
    processContext(),
    () => {},
    () => {},
  );
  const commands = program.commands.filter((command) => command instanceof CliCommand);
  return `${[...introduction, ...commands.flatMap(section)].join('\n').trimEnd()}\n`;
}

const introduction = [
  '# Commands and flags',
  '',
  '<!-- Written by `npm run docs:reference` from src/cli. Change that, not this page. -->',
  '',
  'Every command with its flags. Exit codes: 0 done, 1 failed while running, 2 usage or configuration error, with a line for each. `mixed-version-proxy <command> --help` prints the same, with examples.',
  '',
  'A row says whether a [changed key](configuration.md#changes-while-the-router-runs) takes effect at once or with a restart; ¹ marks values that can change at once, but be set or removed only with a restart.',
  '',
  'Lists take commas and repetition; an entry in double quotes may contain commas. A boolean flag alone means true. Durations are as in Go: `500ms`, `10s`, `1m30s`.',
  '',
];

function section(command: CliCommand): string[] {
  const groups = Map.groupBy(
    // Hidden ones are another command's, whose section has them.
    command.options.filter(({ long, hidden }) => long !== '--help' && !hidden),
    ({ helpGroupHeading }) => helpGroupHeading ?? 'Flags:',
  );
  const usage = command.registeredArguments.map((argument) =>
    argument.required ? `<${argument.name()}>` : `[${argument.name()}]`,
  );
  return [
    `## ${[command.name(), ...usage].join(' ')}`,
    '',
    command.description(),
    '',
    ...[...groups].flatMap(([heading, options]) => table(command, heading, options)),
  ];
}

function table(command: CliCommand, heading: string, options: readonly Option[]): string[] {
  const columns = columnsOf(command).filter(({ cell }) => options.some((option) => cell(option) !== ''));
  const caption = heading.replace(/:$/, '');
  return [
    ...(caption === 'Flags' ? [] : [`### ${caption}`, '']),
    `| flag |${columns.map(({ title }) => ` ${title} |`).join('')} |`,
    `|---|${columns.map(() => '---|').join('')}---|`,
    ...options.map((option) => row(option, columns)),
    '',
  ];
}

/** What there is to say of a flag between its name and its description. */
interface Column {
  readonly title: string;
  /** Empty where there is nothing. */
  readonly cell: (option: Option) => string;
}

function row(option: Option, columns: readonly Column[]): string {
  const { flags, description, defaultValue } = option;
  // Flags of serve and sync have their default in their description.
  const shown = typeof defaultValue === 'string' ? ` (default ${defaultValue})` : '';
  const choices = option.argChoices === undefined ? '' : ` One of ${option.argChoices.join(', ')}.`;
  const cells = columns.map(({ cell }) => ` ${cell(option)} |`).join('');
  return `| \`${escapeCell(flags)}\` |${cells} ${escapeCell(`${description}${choices}${shown}`)} |`;
}

function columnsOf(command: CliCommand): readonly Column[] {
  if (command.name() === 'sync') return [keyColumn(syncFlags)];
  return command.name() === 'serve' ? [keyColumn(serveFlags), effectColumn] : [];
}

function keyColumn(flags: readonly FlagDefinition[]): Column {
  return {
    title: 'key in the configuration file',
    cell({ long }) {
      const key = flags.find(({ name }) => long === `--${name}`)?.key;
      return key === undefined ? '' : `\`${key}\``;
    },
  };
}

/** When a key counts that is changed in the file of a running router. */
const effectColumn: Column = {
  title: 'a change takes effect',
  cell({ long }) {
    const change = serveFlags.find(({ name }) => long === `--${name}`)?.change;
    return change === undefined ? '' : effects[change];
  },
};

const effects: Readonly<Record<TakesEffect, string>> = {
  'at-once': 'at once',
  'at-once-while-on': 'at once ¹',
  restart: 'restart',
};

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|');
}
