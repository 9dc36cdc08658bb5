import type { ServeConfig } from '../../node/configuration/serve-config.ts';
import type { ConfigurationReading, ConfigurationSource } from '../../node/reload/configuration-source.ts';
import type { SettingChange } from '../../own-paths/status/setting-change.ts';
import { routerConfiguration } from '../config/configuration-kind.ts';
import {
  type ConfiguredOptions,
  configuredOptions,
  describeConfigurationIssue,
  locateIssue,
} from '../config/configured-options.ts';
import { parseConfiguration } from '../config/parse-configuration.ts';
import { deprecationWarnings } from '../flags/deprecated-flags.ts';
import type { FlagIssue } from '../flags/flag-values.ts';
import { type RawServeOptions, type ServeFlagName, serveFlags } from '../flags/serve-flags.ts';
import { configurationChanges, liveOptions } from './configuration-changes.ts';
import type { ServeOptionsResult } from './validate-serve-options.ts';

interface ConfigurationSourceOptions {
  /** The configuration file as it was read at start; `undefined` without one. */
  readonly started: ConfiguredOptions<ServeFlagName> | undefined;
  /** What was given by flags, which win over the file for as long as the process runs. */
  readonly flags: RawServeOptions;
  /** What was found at start: whatever is given wins over it. */
  readonly found: RawServeOptions;
  /** The manifest that the local server was found in. Absent: it was given. */
  readonly manifest?: ConfigurationSource['manifest'];
  /** What the files held that were read at start, by path. */
  readonly texts: ReadonlyMap<string, string>;
  /** Checks options as at the start, with the files that they name; with what these hold, where it is given. */
  readonly validate: (
    raw: RawServeOptions,
    texts: ReadonlyMap<string, string>,
  ) => Promise<ServeOptionsResult>;
}

/** Reads the whole configuration of a running router again, with the checks of the start. */
export function createConfigurationSource(options: ConfigurationSourceOptions): ConfigurationSource {
  const { started, flags, validate } = options;
  const optionsOf = (configured: typeof started): RawServeOptions => ({
    ...options.found,
    ...configured?.raw,
    ...flags,
  });
  // Of settings that take a restart always those of the start.
  let inUseOptions = optionsOf(started);

  return {
    file: started && { path: started.file, text: started.text },
    manifest: options.manifest,
    async read(given) {
      const configured = started && configuredFrom(started.file, given.get(started.file) ?? started.text);
      const nextOptions = optionsOf(configured);
      // Settings that need a restart keep the values of the start, whatever the file says by now.
      const texts = new Map([...given, ...textsOfTheStart(inUseOptions, options.texts)]);
      const describe = (issues: readonly FlagIssue[]) =>
        issues.map((issue) => locateIssue(issue, configured, flags));
      const whole = await validate(nextOptions, texts);
      if (!whole.ok) throw refusal(describe(whole.issues));
      const warnings = describe([...deprecationWarnings(serveFlags, nextOptions), ...whole.warnings]);
      const reading = (
        config: ServeConfig,
        taken: RawServeOptions,
        needsRestart: readonly SettingChange[],
      ): ConfigurationReading => ({
        config,
        changed: configurationChanges(inUseOptions, taken).live,
        needsRestart,
        warnings,
        taken() {
          inUseOptions = taken;
        },
      });
      const { needsRestart } = configurationChanges(inUseOptions, nextOptions);
      if (needsRestart.length === 0) return reading(whole.config, nextOptions, []);
      // Some values go together: what can change now may be invalid without what cannot.
      const partialOptions = liveOptions(inUseOptions, nextOptions);
      const partial = await validate(partialOptions, texts);
      if (partial.ok) return reading(partial.config, partialOptions, needsRestart);
      // Then the settings stay, all of them, and only what their files hold is taken.
      const same = await validate(inUseOptions, texts);
      if (!same.ok) throw refusal(describe(same.issues));
      const pending = configurationChanges(inUseOptions, nextOptions);
      return reading(same.config, inUseOptions, [...pending.live, ...pending.needsRestart]);
    },
  };
}

function textsOfTheStart(
  options: RawServeOptions,
  texts: ReadonlyMap<string, string>,
): readonly (readonly [string, string])[] {
  return serveFlags.flatMap(({ name, value, change }) => {
    const path = options[name]?.at(-1) ?? '';
    const text = value.isPath === true && change === 'restart' ? texts.get(path) : undefined;
    return text === undefined ? [] : [[path, text] as const];
  });
}

function configuredFrom(file: string, text: string): ConfiguredOptions<ServeFlagName> {
  const parsed = parseConfiguration(text, routerConfiguration);
  if (parsed.ok) return configuredOptions(file, text, parsed.values);
  throw refusal(parsed.issues.map((issue) => describeConfigurationIssue(file, issue)));
}

function refusal(issues: readonly string[]): Error {
  return new Error(issues.join('; '));
}
