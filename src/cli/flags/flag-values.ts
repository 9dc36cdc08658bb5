import * as v from 'valibot';
import { fileErrorMessage } from '../../runtime/errors.ts';
import type { FlagDefinition, FlagNeed, RawOptions } from './flag.ts';
import { type FlagType, parseBoolean } from './flag-types.ts';

/** Something wrong with one flag. The message is a whole sentence that names the flag. */
export interface FlagIssue {
  readonly flag: `--${string}`;
  readonly message: string;
}

/** Reads a file as UTF-8 text; throws when it cannot be read. Injected, so that validation needs no disk. */
export type ReadTextFile = (path: string) => string;

/** A file that a flag names, as it was read. */
interface FlagFile {
  readonly path: string;
  readonly text: string;
}

/** What a flag comes to, as its entry says. */
type FlagValue<Flag extends FlagDefinition, Name extends Flag['name']> = v.InferOutput<
  Extract<Flag, { readonly name: Name }>['value']['given']
>;

/**
 * The flags of one call: what they come to, the files that they name, and all that is wrong with either, so that an
 * operator sees it in one run. What cannot be read is an issue, and comes back as `undefined`.
 */
export class FlagValues<Flag extends FlagDefinition> {
  readonly issues: FlagIssue[] = [];
  readonly warnings: FlagIssue[] = [];
  /** For files that are named elsewhere, or read again. */
  readonly readFile: ReadTextFile;
  readonly #flags: ReadonlyMap<string, FlagDefinition>;
  readonly #raw: RawOptions<string>;

  constructor(flags: readonly FlagDefinition[], raw: RawOptions<Flag['name']>, readFile: ReadTextFile) {
    this.#flags = new Map(flags.map((flag) => [flag.name, flag]));
    this.#raw = raw;
    this.readFile = readFile;
  }

  /** Said once, however often the flag is read. */
  issue(name: Flag['name'], message: string): undefined {
    if (this.issues.some((issue) => issue.message === message)) return;
    this.issues.push({ flag: `--${name}`, message });
  }

  warn(name: Flag['name'], message: string): void {
    this.warnings.push({ flag: `--${name}`, message });
  }

  /** Whether the flag was given at all, blank or not. */
  isGiven(name: Flag['name']): boolean {
    return this.#raw[name] !== undefined;
  }

  /** Whether the flag was given, and not only to say that something is off that is off anyway. */
  isUsed(name: Flag['name']): boolean {
    return this.#isUsed(name);
  }

  /** The last occurrence counts, as with every Kubernetes command. `undefined` when absent or blank. */
  text(name: Flag['name']): string | undefined {
    const given = this.#raw[name]?.at(-1);
    if (given === undefined) return this.#flags.get(name)?.default;
    if (given.trim() === '') return this.issue(name, `empty value in "--${name}"`);
    return given;
  }

  required(name: Flag['name'], why?: string): string | undefined {
    if (this.isGiven(name)) return this.text(name);
    return this.issue(name, `--${name} is required${why === undefined ? '' : `: ${why}`}`);
  }

  /** Every entry of every occurrence. A blank entry is an error, worded as upstream words it. */
  list(name: Flag['name'], options: { readonly mayBeBlank?: boolean } = {}): readonly string[] {
    const { value, default: usual = '' } = this.#flags.get(name) ?? {};
    const occurrences = this.#raw[name] ?? [usual];
    const entries = occurrences.flatMap((each) => entriesOf(value, each));
    const blank = entries.length === 0 && this.isGiven(name) && options.mayBeBlank !== true;
    if (blank || entries.some((entry) => entry.trim() === '')) {
      this.issue(name, `empty value in "--${name}"`);
    }
    return entries;
  }

  /** What the last occurrence comes to. */
  value<Name extends Flag['name']>(name: Name): FlagValue<Flag, Name> | undefined {
    const text = this.text(name);
    const schema = this.#flags.get(name)?.value.given;
    if (text === undefined || schema === undefined) return undefined;
    const result = v.safeParse(schema, text);
    // The schema is that of `name`.
    if (result.success) return result.output as FlagValue<Flag, Name>;
    return this.issue(name, `--${name} ${result.issues[0].message}, not "${text}"`);
  }

  /** The values of several flags, each under its own name; `undefined` unless all of them have one. */
  values<const Names extends Readonly<Record<string, Flag['name']>>>(
    names: Names,
  ): { readonly [Each in keyof Names]: FlagValue<Flag, Names[Each]> } | undefined {
    const entries = Object.entries(names).map(([key, name]) => [key, this.value(name)] as const);
    if (entries.some(([, value]) => value === undefined)) return undefined;
    return Object.fromEntries(entries) as { readonly [Each in keyof Names]: FlagValue<Flag, Names[Each]> };
  }

  /** The file that a flag names. */
  file(name: Flag['name']): FlagFile | undefined {
    return this.#file(name, this.text(name));
  }

  requiredFile(name: Flag['name'], why?: string): FlagFile | undefined {
    return this.#file(name, this.required(name, why));
  }

  /** The text of one of the files that a flag names. */
  read(name: Flag['name'], path: string): string | undefined {
    try {
      return this.readFile(path);
    } catch (error) {
      return this.issue(name, `--${name}: cannot read ${path}: ${fileErrorMessage(error)}`);
    }
  }

  /** The flags that this call has no use for, given or not. */
  useless(): readonly Flag['name'][] {
    return [...this.#flags.values()].flatMap((flag) =>
      this.#callWithoutUseOf(flag) === undefined ? [] : [flag.name],
    );
  }

  /**
   * Refuses what is wrong in itself: a boolean flag that is neither true nor false, a flag that this call has no use
   * for, and one that does nothing without another one.
   */
  check(): void {
    for (const flag of this.#flags.values()) {
      const { name, value, needs = [] } = flag;
      if (value.kind === 'boolean') this.value(name);
      if (!this.#isUsed(name)) continue;
      const call = this.#callWithoutUseOf(flag);
      if (call !== undefined) {
        this.issue(name, `--${name} has no use with --${call}`);
        continue;
      }
      for (const need of needs) {
        if (!this.#isMet(need)) this.issue(name, `--${name} needs ${inWords(need)}`);
      }
    }
  }

  /** The flag that makes the call one without use for this flag, and what such a call does. */
  #callWithoutUseOf({ uselessWith = [] }: FlagDefinition): string | undefined {
    const call = uselessWith
      .map((name) => this.#flags.get(name))
      .find(
        (each) => each !== undefined && this.#isUsed(each.name) && this.#callWithoutUseOf(each) === undefined,
      );
    if (call === undefined) return undefined;
    return call.call === undefined ? call.name : `${call.name}, which ${call.call}`;
  }

  #isMet({ oneOf }: FlagNeed): boolean {
    return oneOf.some((name) => this.#isUsed(name));
  }

  #file(name: Flag['name'], path: string | undefined): FlagFile | undefined {
    const text = path === undefined ? undefined : this.read(name, path);
    return path === undefined || text === undefined ? undefined : { path, text };
  }

  #isUsed(name: string): boolean {
    const given = this.#raw[name]?.at(-1);
    const { value, default: usual } = this.#flags.get(name) ?? {};
    if (given === undefined || value?.kind !== 'boolean') return given !== undefined;
    const isOn = parseBoolean(given);
    return isOn === true || (isOn === false && usual === 'true');
  }
}

function inWords({ oneOf, because }: FlagNeed): string {
  const flags = oneOf.map((name) => `--${name}`).join(' or ');
  return `${flags}${because === undefined ? '' : `: ${because}`}`;
}

/** The entries of one occurrence of a list flag. */
export function entriesOf(type: FlagType | undefined, occurrence: string): string[] {
  if (type?.isWhole === true) return occurrence === '' ? [] : [occurrence];
  return splitList(occurrence);
}

/**
 * Splits one occurrence of a list flag at its commas; an entry in double quotes may hold commas itself, and a
 * doubled quote is a quote (the CSV form that pflag's StringSlice reads). A blank occurrence has no entries.
 */
function splitList(occurrence: string): string[] {
  if (occurrence === '') return [];
  const entries: string[] = [];
  // A quote with something after it is no CSV: the second alternative takes it as it stands.
  const entry = /(?:"((?:[^"]|"")*)"|([^,]*))(,|$)/y;
  let match = entry.exec(occurrence);
  while (match !== null) {
    entries.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? '');
    match = match[3] === ',' ? entry.exec(occurrence) : null;
  }
  return entries;
}
