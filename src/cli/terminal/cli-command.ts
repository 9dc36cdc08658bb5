import { Command, Help, type Option } from 'commander';
import type { CommandContext, ExitCode } from './command-context.ts';

/** Gives what a subcommand's action resolves to back to the caller of the command line. */
export type ReportExitCode = (code: ExitCode) => void;

/** Gives a subcommand, which has its name and summary, its description, its flags and what it does. */
export type RegisterCommand = (command: CliCommand, context: CommandContext, report: ReportExitCode) => void;

/** A command whose help reads like kubectl's: what it does, examples, flags in groups, usage. */
export class CliCommand extends Command {
  #examples: readonly Example[] = [];

  get exampleList(): readonly Example[] {
    return this.#examples;
  }

  examples(...examples: readonly Example[]): this {
    this.#examples = examples;
    return this;
  }

  override createCommand(name?: string): CliCommand {
    return new CliCommand(name);
  }

  override createHelp(): Help {
    return Object.assign(new KubectlStyleHelp(), this.configureHelp());
  }
}

/** Flags are too long for a column of their own: each stands above what it does. */
const descriptionIndent = ' '.repeat(8);

class KubectlStyleHelp extends Help {
  override commandUsage(command: Command): string {
    return super.commandUsage(command).replace('[options]', '[flags]');
  }

  /** That a boolean flag alone means true goes without saying. */
  override optionDescription(option: Option): string {
    return super.optionDescription(option).replace(' (preset: "true")', '');
  }

  /** As wide as what stands in columns: commands and arguments. */
  override padWidth(command: Command, helper: Help): number {
    return Math.max(
      helper.longestSubcommandTermLength(command, helper),
      helper.longestArgumentTermLength(command, helper),
    );
  }

  override formatHelp(command: Command, helper: Help): string {
    const width = helper.helpWidth ?? 80;
    const termWidth = helper.padWidth(command, helper);
    const item = (term: string, description: string): string =>
      helper.formatItem(term, termWidth, description, helper);

    const sections: string[] = [helper.boxWrap(helper.commandDescription(command), width)];
    if (command instanceof CliCommand && command.exampleList.length > 0) {
      const examples = command.exampleList.map((example) => exampleText(example, width));
      sections.push(`Examples:\n${examples.join('\n\n')}`);
    }
    const argumentItems = helper
      .visibleArguments(command)
      .map((argument) => item(helper.argumentTerm(argument), helper.argumentDescription(argument)));
    if (argumentItems.length > 0) sections.push(`Arguments:\n${argumentItems.join('\n')}`);
    const commands = Map.groupBy(
      helper.visibleCommands(command),
      (subcommand) => subcommand.helpGroup() || 'Other commands:',
    );
    for (const [heading, entries] of commands) {
      const items = entries.map((entry) =>
        item(helper.subcommandTerm(entry), helper.subcommandDescription(entry)),
      );
      sections.push(`${heading}\n${items.join('\n')}`);
    }
    const options: Map<string, Option[]> = Map.groupBy(
      helper.visibleOptions(command),
      (option) => option.helpGroupHeading ?? 'Flags:',
    );
    for (const [heading, entries] of options) {
      const items = entries.map((entry) => {
        const description = helper.boxWrap(helper.optionDescription(entry), width - descriptionIndent.length);
        return `    ${helper.optionTerm(entry)}:\n${description.replace(/^/gm, descriptionIndent)}`;
      });
      sections.push(`${heading}\n${items.join('\n')}`);
    }
    sections.push(`Usage:\n  ${helper.commandUsage(command)}`);
    if (commands.size > 0) {
      sections.push(`Use "${command.name()} <command> --help" for more about a command.`);
    }
    return `${sections.join('\n\n')}\n`;
  }
}

/** A call of the program, as help shows it. */
interface Example {
  readonly comment: string;
  /** Without the program's name, on one line. */
  readonly line: string;
}

const indent = '  ';
const continuedIndent = '      ';

/**
 * An example as help shows it: no line of it is longer than `width`, unless one flag with its value is, and it can be
 * pasted into a shell as it stands. Pure.
 */
export function exampleText({ comment, line }: Example, width: number): string {
  const comments = filled(comment.split(' '), width, `${indent}# `, `${indent}# `, '');
  const call = filled(unitsOf(`mixed-version-proxy ${line}`), width, indent, continuedIndent, ' \\');
  return [...comments, ...call].join('\n');
}

/** What stays on one line: a flag and its value, a redirection and its file, an operator and what it starts. */
function unitsOf(line: string): readonly string[] {
  const units: string[] = [];
  let isJoined = false;
  for (const word of line.split(' ')) {
    const isFlag = word.startsWith('-');
    if (isJoined && !isFlag) units.push(`${units.pop() ?? ''} ${word}`);
    else units.push(word);
    isJoined = /^(?:[<>]|&&|\|)$/.test(word) || (isFlag && !word.includes('='));
  }
  return units;
}

/** Fills lines up to `width`, `lineEnd` of all but the last line included. */
function filled(
  units: readonly string[],
  width: number,
  first: string,
  next: string,
  lineEnd: string,
): readonly string[] {
  const lines: string[] = [];
  let current = first;
  let isEmpty = true;
  for (const unit of units) {
    const longer = isEmpty ? `${current}${unit}` : `${current} ${unit}`;
    if (isEmpty || longer.length + lineEnd.length <= width) {
      current = longer;
    } else {
      lines.push(`${current}${lineEnd}`);
      current = `${next}${unit}`;
    }
    isEmpty = false;
  }
  return [...lines, current];
}
