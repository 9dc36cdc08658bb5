import type { Argument, Command, Option } from 'commander';

/** What can stand in a place of the command line. `none`: nothing does, `text`: anything. */
export type CompletedValue =
  | { readonly kind: 'none' | 'text' | 'file' | 'directory' }
  | { readonly kind: 'choice'; readonly choices: readonly string[] };

export interface CompletedFlag {
  /** With its dashes, such as `--config`. */
  readonly long: string;
  /** Such as `-v`. */
  readonly short: string | undefined;
  readonly description: string;
  readonly value: CompletedValue;
  /** It may stand alone: a boolean flag means true then. */
  readonly isValueOptional: boolean;
}

export interface CompletedCommand {
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly CompletedFlag[];
  /** The first argument; the others are completed like it. */
  readonly argument: CompletedValue;
}

/** The command line as the shells complete it: what the help shows, and flags that it leaves to another command's. */
export function commandModel(program: Command): readonly CompletedCommand[] {
  const visible = program.createHelp().visibleCommands(program);
  const names = visible.map((command) => command.name());
  return visible.map((command) => {
    const shown = command.createHelp().visibleOptions(command);
    const flags = [...shown, ...command.options.filter(({ hidden }) => hidden)].flatMap(flagOf);
    const [argument] = command.registeredArguments;
    const isHelp = command.name() === 'help';
    return {
      name: command.name(),
      summary: command.summary() || command.description(),
      flags,
      argument: isHelp ? { kind: 'choice', choices: names } : valueOfArgument(argument),
    };
  });
}

function flagOf(option: Option): CompletedFlag[] {
  const { long, short, description, optional } = option;
  if (long === undefined || long === null) return [];
  const value = valueOfOption(option);
  return [{ long, short: short ?? undefined, description, value, isValueOptional: optional }];
}

function valueOfOption({ argChoices, flags, required, optional }: Option): CompletedValue {
  if (argChoices !== undefined) return { kind: 'choice', choices: argChoices };
  if (!required && !optional) return { kind: 'none' };
  return valueOfPlaceholder(/[<[]([^<>[\]]+)[>\]]\s*$/.exec(flags)?.[1] ?? '');
}

function valueOfArgument(argument: Argument | undefined): CompletedValue {
  if (argument === undefined) return { kind: 'none' };
  const { argChoices } = argument;
  return argChoices === undefined
    ? valueOfPlaceholder(argument.name())
    : { kind: 'choice', choices: argChoices };
}

function valueOfPlaceholder(placeholder: string): CompletedValue {
  if (placeholder === 'file' || placeholder === 'directory') return { kind: placeholder };
  if (/^[\w-]+(\|[\w-]+)+$/.test(placeholder)) return { kind: 'choice', choices: placeholder.split('|') };
  return { kind: 'text' };
}
