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

/** What was given by flags wins, value by value, as in Kubernetes' own components. */
export function withFlags<Name extends string>(
  configured: ConfiguredOptions<Name> | undefined,
  flags: RawOptions<Name>,
): RawOptions<Name> {
  return { ...configured?.raw, ...flags };
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
 * Whether a message names flags, and all of them were given. Where the file has errors, only such a message is certain:
 * one about a flag that is missing may come of a value that the file does set, and wrongly.
 */
export function namesGivenFlags(message: string, options: RawOptions<string>): boolean {
  const names = [...message.matchAll(/--([a-z][a-z0-9-]*)/g)].map(([, name = '']) => name);
  return names.length > 0 && names.every((name) => Object.hasOwn(options, name));
}

/**
 * What `--config` names: the values without an error. The others are told in `issues`, a line each with its place, so
 * that the caller can look for errors of flags and named files in the same run.
 * @throws {CommandFailure} exit code 2 when the file cannot be read
 */
export function readConfigurationFile<Name extends string>(
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
