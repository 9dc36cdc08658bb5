import * as v from 'valibot';
import type { SectionSchema } from '../../node/configuration/setting.ts';
import { section, setting } from '../../node/configuration/setting-types.ts';
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

/** The same flags, for the help and the arguments of a command. */
export function sectionsOf(groups: readonly FlagGroup[]): readonly SectionSchema[] {
  return groups.map(({ heading, flags }) => {
    const entries = flags.map((flag) => {
      const { kind, placeholder } = flag.value;
      const type = {
        schema: v.unknown(),
        placeholder: kind === 'boolean' ? '' : placeholder,
        ...(/^[\w-]+(\|[\w-]+)+$/.test(placeholder) && { choices: placeholder.split('|') }),
        given: (occurrences: readonly string[]): unknown => occurrences,
      };
      const about = { description: descriptionOf(flag), ...(flag.short && { short: flag.short }) };
      return [flag.name, setting(flag.name, type, about)] as const;
    });
    return section(heading, Object.fromEntries(entries));
  });
}

/** For help and schemas: with the default, where there is one. */
export function descriptionOf({ description, default: usual }: FlagDefinition): string {
  return usual === undefined ? description : `${description} (default ${usual})`;
}
