import type { Option } from 'commander';
import type { FlagDefinition } from '../../src/cli/flags/flag.ts';
import { serveFlags } from '../../src/cli/flags/serve-flags.ts';
import { syncFlags } from '../../src/cli/flags/sync-flag-groups.ts';
import { createProgram } from '../../src/cli/run-command-line.ts';
import { CliCommand } from '../../src/cli/terminal/cli-command.ts';
import { processContext } from '../../src/cli/terminal/command-context.ts';

/** docs/reference/flags.md, from the commands themselves. */
export async function flagsPage(): Promise<string> {
  const program = await createProgram(
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
  '<!-- Written by `npm run generate` from src/cli. Change that, not this page. -->',
  '',
  'Every command with its flags. Exit codes: 0 done, 1 failed while running, 2 usage or configuration error, with a line for each. `mixed-version-proxy <command> --help` prints the same, with examples.',
  '',
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
  const keys = keysOf(command);
  const hasKeys = options.some((option) => keys(option) !== '');
  const caption = heading.replace(/:$/, '');
  return [
    ...(caption === 'Flags' ? [] : [`### ${caption}`, '']),
    ...(hasKeys ? ['| flag | key | |', '|---|---|---|'] : ['| flag | |', '|---|---|']),
    ...options.map((option) => row(option, hasKeys ? ` ${keys(option)} |` : '')),
    '',
  ];
}

/** @param key the cell between the flag and what it does, with its border */
function row(option: Option, key: string): string {
  const { flags, description, defaultValue } = option;
  // Flags of serve and sync have their default in their description.
  const shown = typeof defaultValue === 'string' ? ` (default ${defaultValue})` : '';
  const choices = option.argChoices === undefined ? '' : ` One of ${option.argChoices.join(', ')}.`;
  return `| \`${escapeCell(flags)}\` |${key} ${escapeCell(`${description}${choices}${shown}`)} |`;
}

/** The key of a flag in the command's configuration file; empty where it has none. */
function keysOf(command: CliCommand): (option: Option) => string {
  const flags: readonly FlagDefinition[] =
    command.name() === 'serve' ? serveFlags : command.name() === 'sync' ? syncFlags : [];
  return ({ long }) => {
    const { key } = flags.find(({ name }) => long === `--${name}`) ?? {};
    return key === undefined ? '' : `\`${key}\``;
  };
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|');
}
