import { subcommands } from '../../src/cli/run-command-line.ts';
import { syncConfiguration } from '../../src/cli/sync/sync-settings.ts';
import type { Command } from '../../src/cli/terminal/command.ts';
import { flagGroups, flagTerm } from '../../src/cli/terminal/help.ts';
import { routerConfiguration } from '../../src/node/configuration/router-settings.ts';
import { descriptionOf, type Setting, settingsOf } from '../../src/node/configuration/setting.ts';

/** docs/reference/flags.md, from the commands themselves. */
export async function flagsPage(): Promise<string> {
  const known = new Set<string>();
  const commands: string[][] = [];
  for (const { name, load } of subcommands) commands.push(commandSection(name, await load(), known));
  return `${[...introduction, ...commands.flat()].join('\n').trimEnd()}\n`;
}

const introduction = [
  '# Commands and flags',
  '',
  '<!-- Written by `npm run generate` from src/cli. Change that, not this page. -->',
  '',
  'Every command with its flags. Exit codes: 0 done, 1 failed while running, 2 usage or configuration error, with a line for each. `mixed-version-proxy <command> --help` prints the same, with more of what it does, and examples.',
  '',
  'Lists take commas and repetition; an entry in double quotes may contain commas. A flag without a value in this table is true when it is given; `=false` turns it off. Durations are as in Go: `500ms`, `10s`, `1m30s`.',
  '',
];

/** @param known by flag and description, whether the section of serve has it */
function commandSection(name: string, command: Command, known: Set<string>): string[] {
  const usage = (command.arguments ?? []).map((argument) =>
    argument.isRequired ? `<${argument.name}>` : `[${argument.name}]`,
  );
  return [
    `## ${[name, ...usage].join(' ')}`,
    '',
    firstSentence(command.description),
    '',
    ...flagGroups(command).flatMap(([heading, settings]) => table(name, heading, settings, known)),
  ];
}

/** The rest is in the guides, and in the help of the command. */
function firstSentence(text: string): string {
  return /^.*?[.:](?=\s|$)/s.exec(text)?.[0].replace(/:$/, '.') ?? text;
}

function table(command: string, heading: string, settings: readonly Setting[], known: Set<string>): string[] {
  const hasKeys = settings.some((setting) => keyOf(command, setting) !== '');
  const caption = heading.replace(/:$/, '');
  return [
    ...(caption === 'Flags' ? [] : [`### ${caption}`, '']),
    ...(hasKeys ? ['| flag | key | |', '|---|---|---|'] : ['| flag | |', '|---|---|']),
    ...settings.map((setting) => {
      const key = hasKeys ? ` ${keyOf(command, setting)} |` : '';
      const description = descriptionOf(setting.about);
      const identity = `${setting.flag} ${description}`;
      const isOfServe = known.has(identity);
      if (command === 'serve') known.add(identity);
      const text = isOfServe ? 'As of [serve](#serve).' : escapeCell(description);
      return `| \`${escapeCell(flagTerm(setting))}\` |${key} ${text} |`;
    }),
    '',
  ];
}

/** The key of a flag in the command's configuration file; empty where it has none. */
function keyOf(command: string, { flag, path }: Setting): string {
  const { settings } = { serve: routerConfiguration, sync: syncConfiguration }[command] ?? {};
  const hasKey = settings !== undefined && settingsOf(settings).some((each) => each.flag === flag);
  return hasKey ? `\`${path.join('.')}\`` : '';
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|');
}
