import * as v from 'valibot';
import {
  type FlagOf,
  isSection,
  type SectionSchema,
  type Setting,
  settingsOf,
  shownText,
} from '../../node/configuration/setting.ts';
import { fileErrorMessage } from '../../runtime/errors.ts';
import { fieldPath } from '../../runtime/validation.ts';
import { type GivenArguments, helpHint } from '../terminal/command.ts';
import { CommandFailure } from '../terminal/command-context.ts';

/** Values of each flag as they were given, occurrence by occurrence. */
export type RawFlags<Flag extends string = string> = Readonly<Partial<Record<Flag, readonly string[]>>>;

export type Source =
  | { readonly kind: 'flag' }
  | {
      readonly kind: 'file';
      readonly file: string;
      readonly path: string;
      readonly line: number;
      readonly column: number;
    }
  | { readonly kind: 'found'; readonly text: string };

/** A value that a setting was given, as a configuration file would have it. */
export interface GivenValue {
  readonly input: unknown;
  readonly shown: string;
  readonly source: Source;
}

export type GivenValues = ReadonlyMap<string, GivenValue>;

/** Something wrong with one setting. The message is a whole sentence that names its flag. */
export interface SettingIssue {
  readonly flag: `--${string}`;
  readonly message: string;
  readonly source?: Source;
  /** True if the issue is about something that was not given: an unreadable input may have been meant for it. */
  readonly isOfMissing?: true;
}

export interface SettingInUse {
  readonly flag: `--${string}`;
  readonly shown: string;
  readonly source: Source | undefined;
}

export function describeIssue({ flag, message, source }: SettingIssue): string {
  if (source?.kind === 'file') {
    return `${source.file}:${source.line}:${source.column}: ${source.path}: ${message}`;
  }
  return source?.kind === 'found' ? `${message} (found: ${source.text}; give another with ${flag})` : message;
}

/** Reads a file as UTF-8 text; throws when it cannot be read. Injected, so that checks need no disk. */
export type ReadTextFile = (path: string) => string;

interface SettingFile {
  readonly path: string;
  readonly text: string;
}

/**
 * The settings of one call: their values, the files that they name, and all that is wrong with either, so that an
 * operator sees it in one run. What cannot be read is an issue, and has the default's value.
 */
export class Settings<Root extends SectionSchema> {
  readonly values: v.InferOutput<Root>;
  readonly issues: SettingIssue[] = [];
  readonly warnings: SettingIssue[] = [];
  /** The files of credentials that were read, by the flag that names them. */
  readonly credentialFiles: (SettingFile & { readonly name: string })[] = [];
  readonly readFile: ReadTextFile;
  readonly #settings: ReadonlyMap<string, Setting>;
  readonly #given: GivenValues;

  /** @param layers what was given, in the order in which one wins over the next */
  constructor(root: Root, layers: readonly GivenValues[], readFile: ReadTextFile) {
    this.#settings = new Map(settingsOf(root).map((setting) => [setting.flag, setting]));
    this.#given = merged(layers);
    this.readFile = readFile;
    const usable = [...this.#settings.values()].flatMap((setting) => {
      const given = this.#given.get(setting.flag);
      if (given === undefined) return [];
      const faults = faultsOfFlag(setting, given);
      for (const message of faults) this.#add(this.issues, setting.flag, message);
      return faults.length === 0 ? [{ path: setting.path, input: given.input }] : [];
    });
    this.values = v.parse(root, nested(root, usable));
  }

  /** Said once, however often it is found. */
  issue(flag: FlagOf<Root>, message: string, isOfMissing = !this.isGiven(flag)): undefined {
    this.#add(this.issues, flag, message, isOfMissing);
  }

  warn(flag: FlagOf<Root>, message: string): void {
    this.#add(this.warnings, flag, message, !this.isGiven(flag));
  }

  isGiven(flag: FlagOf<Root>): boolean {
    return this.#given.has(flag);
  }

  isFound(flag: FlagOf<Root>): boolean {
    return this.#given.get(flag)?.source.kind === 'found';
  }

  /** True if the flag was given, and not only to say that something is off that is off anyway. */
  isUsed(flag: string): boolean {
    const given = this.#given.get(flag);
    const isOff = given?.input === false && this.#settings.get(flag)?.about.default !== true;
    return given !== undefined && !isOff;
  }

  inUse(): readonly SettingInUse[] {
    return [...this.#settings.values()].map(({ flag, about }) => {
      const given = this.#given.get(flag);
      const usual = about.default === undefined ? '' : shownText(about.default);
      return {
        flag: `--${flag}`,
        shown: given?.shown ?? usual,
        source: given?.source,
      };
    });
  }

  require(flag: FlagOf<Root>, why?: string): void {
    if (!this.isGiven(flag)) this.issue(flag, `--${flag} is required${why === undefined ? '' : `: ${why}`}`);
  }

  file(flag: FlagOf<Root>, path: string | undefined): SettingFile | undefined {
    if (path === undefined) return undefined;
    try {
      const file = { path, text: this.readFile(path) };
      if (this.#settings.get(flag)?.about.isCredential) this.credentialFiles.push({ name: flag, ...file });
      return file;
    } catch (error) {
      return this.issue(flag, `--${flag}: cannot read ${path}: ${fileErrorMessage(error)}`);
    }
  }

  flagsThat(mark: 'authenticates' | 'isOfLocalServer' | 'needsFeatureGate'): readonly FlagOf<Root>[] {
    const isMarked = (flag: string): flag is FlagOf<Root> => this.#settings.get(flag)?.about[mark] === true;
    return [...this.#settings.keys()].filter(isMarked);
  }

  useless(): readonly string[] {
    return [...this.#settings.values()].flatMap((setting) =>
      this.#callWithoutUseOf(setting) === undefined ? [] : [setting.flag],
    );
  }

  check(): void {
    for (const setting of this.#settings.values()) {
      const { flag, about } = setting;
      if (!this.isUsed(flag)) continue;
      const call = this.#callWithoutUseOf(setting);
      if (call !== undefined) {
        this.#add(this.issues, flag, `--${flag} has no use with --${call}`);
        continue;
      }
      for (const { oneOf, because } of about.needs ?? []) {
        if (oneOf.some((other) => this.isUsed(other))) continue;
        const others = oneOf.map((other) => `--${other}`).join(' or ');
        const why = because === undefined ? '' : `: ${because}`;
        this.#add(this.issues, flag, `--${flag} needs ${others}${why}`, true);
      }
    }
  }

  /** The flag that makes the call one without use for this setting, and what such a call does. */
  #callWithoutUseOf({ about: { uselessWith = [] } }: Setting): string | undefined {
    const call = uselessWith
      .map((flag) => this.#settings.get(flag))
      .find((each) => each && this.isUsed(each.flag) && this.#callWithoutUseOf(each) === undefined);
    if (call === undefined) return undefined;
    return call.about.call === undefined ? call.flag : `${call.flag}, which ${call.about.call}`;
  }

  #add(to: SettingIssue[], flag: string, message: string, isOfMissing = false): void {
    if (to.some((issue) => issue.message === message)) return;
    const source = this.#given.get(flag)?.source;
    to.push({ flag: `--${flag}`, message, ...(source && { source }), ...(isOfMissing && { isOfMissing }) });
  }
}

export function givenByFlags(root: SectionSchema, raw: RawFlags): GivenValues {
  return new Map(
    settingsOf(root).flatMap(({ flag, takes }) => {
      const occurrences = raw[flag];
      if (occurrences === undefined) return [];
      const shown = takes.isList ? occurrences.join(',') : (occurrences.at(-1) ?? '');
      return [[flag, { input: takes.given(occurrences), shown, source: { kind: 'flag' } }] as const];
    }),
  );
}

/** @throws {CommandFailure} exit code 2, one line for every error of the call */
export function readFlags<Root extends SectionSchema>(
  root: Root,
  given: GivenArguments,
): v.InferOutput<Root> {
  const settings = new Settings(root, [givenByFlags(root, given.flags)], () => '');
  settings.check();
  const issues = [...given.issues, ...settings.issues.map(({ message }) => message)];
  if (issues.length > 0) throw new CommandFailure(2, issues, { hint: helpHint });
  return settings.values;
}

export function merged(layers: readonly GivenValues[]): GivenValues {
  return new Map(layers.toReversed().flatMap((layer) => [...layer]));
}

/** Faults of a value; empty: there is none. Messages are predicates that follow the path. */
export function faultsOf(
  { takes, about }: Pick<Setting, 'takes' | 'about'>,
  input: unknown,
): readonly { readonly path: readonly (string | number)[]; readonly message: string }[] {
  if (about.mayBeBlank && Array.isArray(input) && input.length === 0) return [];
  const result = v.safeParse(takes.schema, input, { abortPipeEarly: true });
  if (result.success) return [];
  return result.issues.map(({ path = [], message }) => ({
    path: path.flatMap(({ key }) => (typeof key === 'string' || typeof key === 'number' ? [key] : [])),
    message,
  }));
}

function faultsOfFlag(setting: Setting, { input, source }: GivenValue): readonly string[] {
  const { flag, takes, about } = setting;
  const isBlank = (value: unknown) => typeof value === 'string' && value.trim() === '';
  const entries = Array.isArray(input) ? input : [input];
  const lacksEntries = takes.isList && Array.isArray(input) && input.length === 0 && !about.mayBeBlank;
  if (source.kind === 'flag' && (lacksEntries || entries.some(isBlank)))
    return [`empty value in "--${flag}"`];
  return faultsOf(setting, input).map(({ path, message }) => {
    const within = path.filter((key) => typeof key === 'string').reduce<string>(fieldPath, '');
    return `--${flag} ${within === '' ? '' : `${within} `}${message}`;
  });
}

function nested(
  root: SectionSchema,
  values: readonly { readonly path: readonly string[]; readonly input: unknown }[],
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(root.entries).flatMap(([key, schema]): [string, unknown][] => {
      const within = values.filter(({ path }) => path[0] === key);
      if (isSection(schema)) {
        return [
          [
            key,
            nested(
              schema,
              within.map(({ path, input }) => ({ path: path.slice(1), input })),
            ),
          ],
        ];
      }
      return within.map(({ input }) => [key, input]);
    }),
  );
}
