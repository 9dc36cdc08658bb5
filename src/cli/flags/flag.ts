import type { FlagType } from './flag-types.ts';

/**
 * All there is to say of one flag. Help, completion, configuration file and its JSON Schema, reference page and what a
 * reload does are made of it.
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
  /** When a change of its key counts that is made while the router runs. */
  readonly change?: TakesEffect;
  /** Whoever uses it is warned; help, reference pages and schema say so. */
  readonly deprecated?: Deprecation;
}

export interface FlagGroup<Name extends string = string> {
  readonly heading: string;
  readonly flags: readonly FlagDefinition<Name>[];
}

/** A group whose flags may all stand in a configuration file. */
export interface ConfigurableFlagGroup<Name extends string = string> extends FlagGroup<Name> {
  readonly flags: readonly (FlagDefinition<Name> & { readonly key: string })[];
}

/**
 * When a setting counts that is changed while the router runs: at once; at once unless it is turned on or off by the
 * change; or with the next start.
 */
export type TakesEffect = 'at-once' | 'at-once-while-on' | 'restart';

/** That a flag, and the key of a configuration file that stands for it, will go. */
export interface Deprecation {
  /** The version in which it was deprecated, for example `v0.2.0`. */
  readonly since: string;
  /** What to write in its place, or why nothing is needed; the end of a sentence: `use --other`. */
  readonly instead: string;
}

/** What was given under each flag, as it was given, occurrence by occurrence. */
export type RawOptions<Name extends string> = Readonly<Partial<Record<Name, readonly string[]>>>;
