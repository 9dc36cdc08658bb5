import * as v from 'valibot';
import type { FlagType } from './flag-types.ts';
import { type RawServeOptions, type ServeFlag, type ServeFlagName, serveFlags } from './serve-flags.ts';

/** Something wrong with one flag. The message is a whole sentence that names the flag. */
export interface FlagIssue {
  readonly flag: `--${string}`;
  readonly message: string;
}

/** Collects errors and warnings, so that an operator sees all of them in one run. */
export class FlagReport {
  readonly issues: FlagIssue[] = [];
  readonly warnings: FlagIssue[] = [];

  issue(name: ServeFlagName, message: string): undefined {
    this.issues.push({ flag: `--${name}`, message });
    return undefined;
  }

  warn(name: ServeFlagName, message: string): void {
    this.warnings.push({ flag: `--${name}`, message });
  }
}

/** Reads values out of raw flags. What cannot be read is reported and comes back as `undefined`. */
export class FlagValues {
  readonly #raw: RawServeOptions;
  readonly #report: FlagReport;

  constructor(raw: RawServeOptions, report: FlagReport) {
    this.#raw = raw;
    this.#report = report;
  }

  /** Whether the flag was given at all, blank or not. */
  isGiven(name: ServeFlagName): boolean {
    return this.#raw[name] !== undefined;
  }

  /** The last occurrence counts, as with every Kubernetes command. `undefined` when absent or blank. */
  text(name: ServeFlagName): string | undefined {
    const given = this.#raw[name]?.at(-1);
    if (given === undefined) return definitions.get(name)?.default;
    if (given.trim() === '') return this.#report.issue(name, `empty value in "--${name}"`);
    return given;
  }

  required(name: ServeFlagName, why: string): string | undefined {
    if (!this.isGiven(name)) return this.#report.issue(name, `--${name} is required: ${why}`);
    return this.text(name);
  }

  /** Every entry of every occurrence. A blank entry is an error, worded as upstream words it. */
  list(name: ServeFlagName, options: { readonly mayBeBlank?: boolean } = {}): readonly string[] {
    const { value, default: usual = '' } = definitions.get(name) ?? {};
    const occurrences = this.#raw[name] ?? [usual];
    const entries = occurrences.flatMap((each) => entriesOf(value, each));
    const blank = entries.length === 0 && this.isGiven(name) && options.mayBeBlank !== true;
    if (blank || entries.some((entry) => entry.trim() === '')) {
      this.#report.issue(name, `empty value in "--${name}"`);
    }
    return entries;
  }

  /** What the last occurrence comes to. */
  value<Name extends ServeFlagName>(name: Name): ServeValue<Name> | undefined {
    const text = this.text(name);
    const schema = definitions.get(name)?.value.given;
    if (text === undefined || schema === undefined) return undefined;
    const result = v.safeParse(schema, text);
    // The schema is that of `name`.
    if (result.success) return result.output as ServeValue<Name>;
    return this.#report.issue(name, `--${name} ${result.issues[0].message}, not "${text}"`);
  }

  /** The values of several flags, each under its own name; `undefined` unless all of them have one. */
  values<const Names extends Readonly<Record<string, ServeFlagName>>>(
    names: Names,
  ): { readonly [Each in keyof Names]: ServeValue<Names[Each]> } | undefined {
    const entries = Object.entries(names).map(([key, name]) => [key, this.value(name)] as const);
    if (entries.some(([, value]) => value === undefined)) return undefined;
    return Object.fromEntries(entries) as { readonly [Each in keyof Names]: ServeValue<Names[Each]> };
  }
}

/** What a flag comes to, as its entry says. */
export type ServeValue<Name extends ServeFlagName> = v.InferOutput<
  Extract<ServeFlag, { readonly name: Name }>['value']['given']
>;

const definitions = new Map(serveFlags.map((flag) => [flag.name, flag]));

/** The entries of one occurrence of a list flag. */
export function entriesOf(type: FlagType | undefined, occurrence: string): string[] {
  if (type?.isWhole === true) return occurrence === '' ? [] : [occurrence];
  return splitList(occurrence);
}

/**
 * Splits one occurrence of a list flag at its commas; an entry in double quotes may hold commas itself, and a
 * doubled quote is a quote (the CSV form that pflag's StringSlice reads). A blank occurrence has no entries.
 */
export function splitList(occurrence: string): string[] {
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
