import type * as v from 'valibot';

/** Values that a setting may have. One schema for its flag and its key: a flag's text becomes what a file holds. */
export interface SettingType<Schema extends v.GenericSchema = v.GenericSchema> {
  /** The schema of the value in a configuration file, as JSON has it. Its messages are predicates: `must be …`. */
  readonly schema: Schema;
  /** Shown in help instead of the value. Empty: the flag alone means true. */
  readonly placeholder: string;
  /** The only values there are, where they can be counted. */
  readonly choices?: readonly string[];
  /** True if every occurrence of the flag counts. Default: the last one does, as in every Kubernetes command. */
  readonly isList?: true;
  /** True if the setting's texts are paths: those in a configuration file are relative to its folder. */
  readonly isPath?: true;
  /** The value of the flag's occurrences in JSON. Text that cannot be read stays text, for the schema to refuse. */
  readonly given: (occurrences: readonly string[]) => unknown;
}

/** All there is to say about one setting. Flags, configuration file, JSON Schema, help and reference page are made of it. */
export interface About {
  readonly description: string;
  readonly default?: unknown;
  readonly short?: string;
  /** Settings without which it does nothing: a call without them is refused. */
  readonly needs?: readonly FlagNeed[];
  /** Flags of a call that has no use for it: it is refused with them, and its key in a file does not count. */
  readonly uselessWith?: readonly string[];
  /** The effect of a call with the setting, where others are useless with it; the end of a sentence. */
  readonly call?: string;
  /** As `needs`: the feature gate UnknownVersionInteroperabilityProxy. */
  readonly needsFeatureGate?: true;
  /** True if the setting is about the local server, which a gateway does not have. */
  readonly isOfLocalServer?: true;
  readonly authenticates?: true;
  /** True if the setting's file is watched, and taken into use when it changes. */
  readonly isCredential?: true;
  readonly isCommon?: true;
  readonly mayBeBlank?: true;
}

interface FlagNeed {
  readonly oneOf: readonly string[];
  /** The purpose of the other flag; the end of a sentence. */
  readonly because?: string;
}

export type SettingSchema<
  Flag extends string = string,
  Schema extends v.GenericSchema = v.GenericSchema,
  Default extends v.Default<Schema, undefined> = v.Default<Schema, undefined>,
> = v.OptionalSchema<Schema, Default> & {
  readonly flag: Flag;
  readonly takes: SettingType<Schema>;
  readonly about: About;
};

/** Settings and sections under their keys. The whole of a command's settings is one of these. */
export type SectionSchema<Entries extends v.ObjectEntries = v.ObjectEntries> = v.StrictObjectSchema<
  Entries,
  undefined
> & {
  readonly heading: string;
};

export type FlagOf<Schema> = Schema extends { readonly flag: infer Flag extends string }
  ? Flag
  : Schema extends { readonly entries: infer Entries }
    ? { readonly [Key in keyof Entries]: FlagOf<Entries[Key]> }[keyof Entries]
    : never;

export interface Setting extends Pick<SettingSchema, 'flag' | 'takes' | 'about'> {
  readonly schema: v.GenericSchema;
  readonly path: readonly string[];
  readonly heading: string;
}

export function settingsOf(section: SectionSchema, path: readonly string[] = []): readonly Setting[] {
  return Object.entries(section.entries).flatMap(([key, schema]) => {
    const at = [...path, key];
    if (isSection(schema)) return settingsOf(schema, at);
    if (!isSetting(schema)) return [];
    const { flag, takes, about } = schema;
    return { flag, takes, about, schema, path: at, heading: section.heading };
  });
}

export function isSection(schema: object): schema is SectionSchema {
  return 'heading' in schema;
}

export function isSetting(schema: object): schema is SettingSchema & v.GenericSchema {
  return 'about' in schema;
}

export function descriptionOf({ description, default: usual }: About): string {
  return usual === undefined ? description : `${description} (default ${shownText(usual)})`;
}

export function shownText(input: unknown): string {
  if (Array.isArray(input)) return input.map(shownText).join(',');
  if (typeof input !== 'object' || input === null) return String(input);
  const { certFile, keyFile, names = [] } = { certFile: undefined, keyFile: undefined, ...input };
  if (certFile === undefined)
    return Object.entries(input)
      .map(([key, value]) => `${key}=${value}`)
      .join(',');
  const behind = Array.isArray(names) && names.length > 0 ? `:${shownText(names)}` : '';
  return `${certFile},${keyFile}${behind}`;
}
