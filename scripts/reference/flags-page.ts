import type { Option } from 'commander';
import { CliCommand } from '../../src/cli/cli-command.ts';
import { processContext } from '../../src/cli/command-context.ts';
import { routerConfigurationKeys } from '../../src/cli/config/router-configuration-keys.ts';
import { describeTakesEffect } from '../../src/cli/config/takes-effect.ts';
import { createProgram } from '../../src/cli/program.ts';
import type { ServeFlagName } from '../../src/cli/serve-flags.ts';

/** docs/flags.md, from the commands themselves. */
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
  'Exit codes of every command: 0 done, 1 failed while running, 2 called or configured wrongly; then each fault has a line of its own. `mixed-version-proxy <command> --help` says the same as this page, with examples.',
  '',
  'A list takes commas and repetition alike; an entry in double quotes may hold commas. A boolean flag alone means true. Durations are written as in Go: `500ms`, `10s`, `1m30s`.',
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
  const hasKeys = command.name() === 'serve' && options.some((option) => keyOf(option) !== undefined);
  const caption = heading.replace(/:$/, '');
  return [
    ...(caption === 'Flags' ? [] : [`### ${caption}`, '']),
    hasKeys ? '| flag | key in the configuration file | a change takes effect | |' : '| flag | |',
    hasKeys ? '|---|---|---|---|' : '|---|---|',
    ...options.map((option) => row(option, hasKeys)),
    '',
  ];
}

function row(option: Option, hasKeys: boolean): string {
  const { flags, description, defaultValue } = option;
  // Flags of serve and sync have their default in their description.
  const shown = typeof defaultValue === 'string' ? ` (default ${defaultValue})` : '';
  const choices = option.argChoices === undefined ? '' : ` One of ${option.argChoices.join(', ')}.`;
  const key = hasKeys ? ` \`${keyOf(option) ?? ''}\` | ${takesEffect(option)} |` : '';
  return `| \`${escapeCell(flags)}\` |${key} ${escapeCell(`${description}${choices}${shown}`)} |`;
}

function keyOf({ long }: Option): string | undefined {
  const keys: Readonly<Partial<Record<string, string>>> = routerConfigurationKeys;
  return keys[long?.slice(2) ?? ''];
}

/** When a changed key of the file counts. */
function takesEffect({ long }: Option): string {
  const name = long?.slice(2) ?? '';
  return isServeFlag(name) ? describeTakesEffect(name) : '';
}

function isServeFlag(name: string): name is ServeFlagName {
  return Object.hasOwn(routerConfigurationKeys, name);
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|');
}
