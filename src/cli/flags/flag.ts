import { type Command, Option } from 'commander';
import type { FlagType } from './flag-types.ts';

/**
 * All there is to say of one flag. Help, completion, configuration file and its JSON Schema, reference page and which
 * calls are refused are made of it.
 */
export interface FlagDefinition<Name extends string = string> {
  readonly name: Name;
  readonly short?: string;
  /** Where it stands in a configuration file, for example `serving.port`. Left out: only on the command line. */
  readonly key?: string;
  readonly value: FlagType;
  /** The value it has when it is not given. */
  readonly default?: string;
  readonly description: string;
  /** Flags without which it does nothing: a call without them is refused. */
  readonly needs?: readonly FlagNeed[];
  /** Flags of a call that has no use for it: it is refused with them, and its key in a configuration file does not count. */
  readonly uselessWith?: readonly string[];
  /** What a call with it does, where others are useless with it; the end of a sentence. */
  readonly call?: string;
  /** As `needs`: the feature gate UnknownVersionInteroperabilityProxy. */
  readonly needsFeatureGate?: true;
  /** It is about the local server, which a gateway does not have. */
  readonly isOfLocalServer?: true;
  /** It establishes who a caller is. */
  readonly authenticates?: true;
}

export interface FlagGroup<Name extends string = string> {
  readonly heading: string;
  readonly flags: readonly FlagDefinition<Name>[];
}

/** A group whose flags may all stand in a configuration file. */
export interface ConfigurableFlagGroup<Name extends string = string> extends FlagGroup<Name> {
  readonly flags: readonly (FlagDefinition<Name> & { readonly key: string })[];
}

/** That a flag does nothing without another one. */
export interface FlagNeed {
  /** Any of these flags. */
  readonly oneOf: readonly string[];
  /** What the other flag is for; the end of a sentence. */
  readonly because?: string;
}

/** What was given under each flag, as it was given, occurrence by occurrence. */
export type RawOptions<Name extends string> = Readonly<Partial<Record<Name, readonly string[]>>>;

/** What commander hands to an action, by attribute. */
export type GivenOptions = Readonly<Record<string, unknown>>;

/** A flag as commander knows it: every occurrence is kept, as it was given. */
function flagOption(flag: FlagDefinition): Option {
  const short = flag.short === undefined ? '' : `-${flag.short}, `;
  const { kind, placeholder } = flag.value;
  const value = kind === 'boolean' ? `[${placeholder}]` : `<${placeholder}>`;
  return (
    new Option(`${short}--${flag.name} ${value}`, descriptionOf(flag))
      // What a boolean flag means when it stands alone.
      .preset('true')
      .argParser((given: string, previous: readonly string[] | undefined) => [
        ...(previous ?? []),
        // `-v=4`, as Kubernetes' own commands take it.
        flag.short === undefined ? given : given.replace(/^=/, ''),
      ])
  );
}

/**
 * Gives a command flags, each in the group that it has in the help.
 * @param shown changes an option before it is added, or leaves it out
 * @returns what was given under each flag, out of all options of the command
 */
export function addFlags<Name extends string>(
  command: Command,
  groups: readonly FlagGroup<Name>[],
  shown: (option: Option) => Option | undefined = (option) => option,
): (options: GivenOptions) => RawOptions<Name> {
  const names = new Map<string, Name>();
  for (const { heading, flags } of groups) {
    for (const flag of flags) {
      const option = shown(flagOption(flag).helpGroup(heading));
      if (option === undefined) continue;
      names.set(option.attributeName(), flag.name);
      command.addOption(option);
    }
  }
  return (options) => {
    const given: Partial<Record<Name, readonly string[]>> = {};
    for (const [attribute, name] of names) {
      const values = options[attribute];
      // The parser of each of them gathers its occurrences.
      if (Array.isArray(values)) given[name] = values;
    }
    return given;
  };
}

/** For help and schemas: with the default, where there is one. */
export function descriptionOf({ description, default: usual }: FlagDefinition): string {
  return usual === undefined ? description : `${description} (default ${usual})`;
}
