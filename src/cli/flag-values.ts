import { isIP } from 'node:net';
import { defaultOf, type RawServeOptions, type ServeFlagName } from './serve-flags.ts';

/** Something wrong with one flag. The message is a whole sentence that names the flag. */
export interface FlagFault {
  readonly flag: `--${string}`;
  readonly message: string;
}

/** Collects what is wrong, and what is only doubtful, so that an operator sees all of it in one run. */
export class FlagReport {
  readonly faults: FlagFault[] = [];
  readonly warnings: FlagFault[] = [];

  fault(name: ServeFlagName, message: string): undefined {
    this.faults.push({ flag: `--${name}`, message });
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
    if (given === undefined) return defaultOf(name);
    if (given.trim() === '') return this.#report.fault(name, `empty value in "--${name}"`);
    return given;
  }

  required(name: ServeFlagName, why: string): string | undefined {
    if (!this.isGiven(name)) return this.#report.fault(name, `--${name} is required: ${why}`);
    return this.text(name);
  }

  /** Every entry of every occurrence. A blank entry is a fault, worded as upstream words it. */
  list(name: ServeFlagName, options: { readonly mayBeBlank?: boolean } = {}): readonly string[] {
    const occurrences = this.#raw[name] ?? [defaultOf(name) ?? ''];
    const entries = occurrences.flatMap(splitList);
    const blank = entries.length === 0 && this.isGiven(name) && options.mayBeBlank !== true;
    if (blank || entries.some((entry) => entry.trim() === '')) {
      this.#report.fault(name, `empty value in "--${name}"`);
    }
    return entries;
  }

  choice<Choice extends string>(name: ServeFlagName, choices: readonly Choice[]): Choice | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const chosen = choices.find((choice) => choice === text);
    if (chosen !== undefined) return chosen;
    return this.#report.fault(name, `--${name} must be one of ${choices.join(', ')}, not "${text}"`);
  }

  boolean(name: ServeFlagName): boolean | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    return parseBoolean(text) ?? this.#report.fault(name, `--${name} must be true or false, not "${text}"`);
  }

  integer(name: ServeFlagName, minimum: number, maximum: number): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= minimum && value <= maximum) return value;
    return this.#report.fault(
      name,
      `--${name} must be a whole number from ${minimum} to ${maximum}, not "${text}"`,
    );
  }

  ipAddress(name: ServeFlagName): string | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    if (isIP(text) !== 0) return text;
    return this.#report.fault(name, `--${name} must be an IP address, not "${text}"`);
  }
}

/** Go's strconv.ParseBool, which Kubernetes' boolean flags and feature gates are read with. */
export function parseBoolean(text: string): boolean | undefined {
  if (/^(1|t|T|TRUE|true|True)$/.test(text)) return true;
  if (/^(0|f|F|FALSE|false|False)$/.test(text)) return false;
  return undefined;
}

/**
 * Splits one occurrence of a list flag at its commas; an entry in double quotes may hold commas itself, and a
 * doubled quote is a quote (the CSV form that pflag's StringSlice reads). A blank occurrence has no entries.
 */
export function splitList(occurrence: string): string[] {
  if (occurrence === '') return [];
  const entries: string[] = [];
  // A quote with something behind it is no CSV: the second alternative takes it as it stands.
  const entry = /(?:"((?:[^"]|"")*)"|([^,]*))(,|$)/y;
  let match = entry.exec(occurrence);
  while (match !== null) {
    entries.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? '');
    match = match[3] === ',' ? entry.exec(occurrence) : null;
  }
  return entries;
}
