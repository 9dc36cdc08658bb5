import type { ConfigurationSource } from '../../node/credentials/credentials.ts';
import { maskText } from '../../node/exchange/mask-secrets.ts';
import type { SettingChange } from '../../own-paths/status/status-sources.ts';
import { routerConfiguration } from '../config/configuration-kind.ts';
import {
  type ConfiguredOptions,
  configuredOptions,
  describeConfigurationIssue,
  locateIssue,
} from '../config/configured-options.ts';
import { parseConfiguration } from '../config/parse-configuration.ts';
import { entriesOf } from '../flags/flag-values.ts';
import { type RawServeOptions, type ServeFlagName, serveFlags } from '../flags/serve-flags.ts';
import type { ServeOptionsResult } from './validate-serve-options.ts';

interface ConfigurationSourceOptions {
  /** The configuration file as it was read at start; `undefined` without one. */
  readonly started: ConfiguredOptions<ServeFlagName> | undefined;
  /** What was given by flags, which win over the file. */
  readonly flags: RawServeOptions;
  /** What was found at start: whatever is given wins over it. */
  readonly found: RawServeOptions;
  /** The manifest that the local server was found in. Absent: it was given. */
  readonly manifest?: ConfigurationSource['manifest'];
  /** Checks options as at the start, with the files that they name; with what these hold, where it is given. */
  readonly validate: (
    raw: RawServeOptions,
    texts: ReadonlyMap<string, string>,
  ) => Promise<ServeOptionsResult>;
}

/** Reads the files of a running router again, with the checks of the start. */
export function createConfigurationSource({
  started,
  flags,
  found,
  manifest,
  validate,
}: ConfigurationSourceOptions): ConfigurationSource {
  const optionsOf = (configured: typeof started): RawServeOptions => ({
    ...found,
    ...configured?.raw,
    ...flags,
  });
  const checked = async (
    configured: typeof started,
    texts: ReadonlyMap<string, string>,
  ): Promise<Extract<ServeOptionsResult, { ok: true }>['config']> => {
    const result = await validate(optionsOf(configured), texts);
    if (result.ok) return result.config;
    throw refusal(result.issues.map((issue) => locateIssue(issue, configured, flags)));
  };
  return {
    file: started && { path: started.file, text: started.text },
    manifest,
    read: (texts) => checked(started, texts),
    async changes(text) {
      if (started === undefined) return [];
      const configured = configuredFrom(started.file, text);
      await checked(configured, new Map());
      return configurationChanges(optionsOf(started), optionsOf(configured));
    },
  };
}

function configuredFrom(file: string, text: string): ConfiguredOptions<ServeFlagName> {
  const parsed = parseConfiguration(text, routerConfiguration);
  if (parsed.ok) return configuredOptions(file, text, parsed.values);
  throw refusal(parsed.issues.map((issue) => describeConfigurationIssue(file, issue)));
}

function refusal(issues: readonly string[]): Error {
  return new Error(issues.join('; '));
}

/** The settings that differ between two configurations: by their values, not by how they are written. Pure. */
export function configurationChanges(
  before: RawServeOptions,
  after: RawServeOptions,
): readonly SettingChange[] {
  return serveFlags.flatMap((flag) => {
    const [inUse, configured] = [valueIn(flag, before), valueIn(flag, after)];
    if (JSON.stringify(inUse) === JSON.stringify(configured)) return [];
    return {
      flag: `--${flag.name}`,
      key: flag.key,
      inUse: describeValue(inUse),
      configured: describeValue(configured),
    };
  });
}

/** `undefined`: not given, and without a default. A flag that is given blank has a value: an empty one. */
type Value = readonly string[] | undefined;

function valueIn({ name, value, default: usual }: (typeof serveFlags)[number], raw: RawServeOptions): Value {
  const given = raw[name] ?? (usual === undefined ? undefined : [usual]);
  return value.kind === 'list' ? given?.flatMap((each) => entriesOf(value, each)) : given?.slice(-1);
}

function describeValue(value: Value): string {
  return value === undefined ? '(not set)' : maskText(value.join(',')) || '(empty)';
}
