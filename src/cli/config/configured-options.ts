import { dirname, resolve } from 'node:path';
import type { RawOptions } from '../flags/flag.ts';
import type { FlagIssue } from '../flags/flag-values.ts';
import { type CommandContext, readInputFile } from '../terminal/command-context.ts';
import type { ConfigurationKind } from './configuration-kind.ts';
import {
  type ConfigurationIssue,
  type ConfiguredValue,
  type FilePosition,
  parseConfiguration,
} from './parse-configuration.ts';

/** What a configuration file sets, as if it had been given by flags. */
export interface ConfiguredOptions<Name extends string = string> {
  readonly file: string;
  /** The whole file, as it was read. */
  readonly text: string;
  readonly raw: RawOptions<Name>;
  /** Where each of them stands. */
  readonly origins: ReadonlyMap<string, FilePosition & { readonly path: string }>;
}

/** Turns the values of `file` into what flags would say. Paths in it are relative to the folder it is in. */
export function configuredOptions<Name extends string>(
  file: string,
  text: string,
  values: readonly ConfiguredValue<Name>[],
): ConfiguredOptions<Name> {
  const folder = dirname(file);
  const raw: Partial<Record<Name, readonly string[]>> = {};
  for (const { flag, value } of values) raw[flag.name] = occurrencesOf(flag, value, folder);
  return {
    file,
    text,
    raw,
    origins: new Map(values.map(({ flag, path, position }) => [`--${flag.name}`, { ...position, path }])),
  };
}

function occurrencesOf(flag: ConfiguredValue['flag'], value: unknown, folder: string): readonly string[] {
  // Standard output, where a log may go, is no path.
  const fromFolder = (path: unknown) => (path === '-' ? '-' : resolve(folder, String(path)));
  const textOf = flag.value.isPath === true ? fromFolder : String;
  if (flag.value.kind !== 'list') return [textOf(value)];
  if (Array.isArray(value)) {
    return flag.value.isWhole === true ? pairOccurrences(value, textOf) : listOccurrences(value, textOf);
  }
  return Object.entries(value as Readonly<Record<string, boolean>>).map(([gate, on]) => `${gate}=${on}`);
}

/** Quoted, so that an entry with commas stays one (pflag's CSV form). No entry at all is a blank flag. */
function listOccurrences(values: readonly unknown[], textOf: (entry: unknown) => string): readonly string[] {
  const entries = values.map(textOf);
  return entries.length === 0 ? [''] : entries.map((entry) => `"${entry.replaceAll('"', '""')}"`);
}

/** Of `namedCertificatePairs`. */
function pairOccurrences(
  values: readonly { certFile: string; keyFile: string; names?: readonly string[] }[],
  textOf: (entry: unknown) => string,
): readonly string[] {
  return values.map(({ certFile, keyFile, names }) => {
    const files = `${textOf(certFile)},${textOf(keyFile)}`;
    return names === undefined ? files : `${files}:${names.join(',')}`;
  });
}

/** `router.yaml:12:9: serving.port must be …`: editors and terminals follow it. */
export function describeConfigurationIssue(
  file: string,
  { line, column, path, message }: ConfigurationIssue,
): string {
  return `${file}:${line}:${column}: ${path === '' ? message : `${path} ${message}`}`;
}

/** The message of an error, after the place in the file that the value comes from, if it comes from there. */
export function locateIssue(
  { flag, message }: FlagIssue,
  configured: ConfiguredOptions | undefined,
  flags: RawOptions<string>,
): string {
  const origin = configured?.origins.get(flag);
  const isOverridden = flags[flag.slice(2)] !== undefined;
  if (configured === undefined || origin === undefined || isOverridden) return message;
  return `${configured.file}:${origin.line}:${origin.column}: ${origin.path}: ${message}`;
}

/**
 * Whether a message names flags, and all of them were given. Where something that is given cannot be read, only such a
 * message is certain: one about a flag that is missing may come of what was meant for it.
 */
function namesGivenFlags(message: string, options: RawOptions<string>): boolean {
  const names = [...message.matchAll(/--([a-z][a-z0-9-]*)/g)].map(([, name = '']) => name);
  return names.length > 0 && names.every((name) => Object.hasOwn(options, name));
}

/**
 * The values of a configuration file that have no error. The errors are told in `issues`, a line each with its place, so
 * that the caller can look for errors of flags and named files in the same run.
 * @throws {CommandFailure} exit code 2 when the file cannot be read
 */
function readConfigurationFile<Name extends string>(
  context: CommandContext,
  file: string,
  kind: ConfigurationKind<Name>,
  issues: string[],
): ConfiguredOptions<Name> {
  const text = readInputFile(context, '--config', file);
  const parsed = parseConfiguration(text, kind);
  if (!parsed.ok) issues.push(...parsed.issues.map((issue) => describeConfigurationIssue(file, issue)));
  return configuredOptions(file, text, parsed.values);
}

/** What a command was given by flags and by its configuration file. */
interface GivenConfiguration<Name extends string> {
  readonly configured: ConfiguredOptions<Name> | undefined;
  /** What was given by flags wins, value by value, as in Kubernetes' own components. */
  readonly options: RawOptions<Name>;
  /** A line for each error of the file itself. */
  readonly issues: readonly string[];
  /**
   * Those that are certain, whatever the errors of the file are about.
   * @param isKnown whether every flag is known. One that is not may be any other, misspelt. Default: it is
   */
  certain(issues: readonly FlagIssue[], isKnown?: boolean): readonly FlagIssue[];
  /** A line for each, with its place in the file. */
  located(issues: readonly FlagIssue[]): readonly string[];
}

/**
 * Reads the file that `--config` names, if it is given.
 * @param useless keys that this call has no use for
 * @throws {CommandFailure} exit code 2 when the file cannot be read
 */
export function readGivenConfiguration<Name extends string>(
  context: CommandContext,
  file: string | undefined,
  kind: ConfigurationKind<Name>,
  flags: RawOptions<Name>,
  useless: readonly Name[] = [],
): GivenConfiguration<Name> {
  const issues: string[] = [];
  const configured = file === undefined ? undefined : readConfigurationFile(context, file, kind, issues);
  const raw: Partial<Record<Name, readonly string[]>> = configured === undefined ? {} : { ...configured.raw };
  for (const name of useless) delete raw[name];
  const options = { ...raw, ...flags };
  return {
    configured,
    options,
    issues,
    certain: (all, isKnown = true) => {
      const isWhole = isKnown && issues.length === 0;
      return all.filter(({ message }) => isWhole || namesGivenFlags(message, options));
    },
    located: (all) => all.map((issue) => locateIssue(issue, configured, flags)),
  };
}
