import type { ConfigurationReading, ConfigurationSource } from '../../node/reload/configuration-source.ts';
import type { ServeConfig } from '../../node/serve-config.ts';
import type { SettingChange } from '../../observe/setting-change.ts';
import { deprecationWarnings } from '../deprecated-flags.ts';
import type { FlagFault } from '../flag-values.ts';
import { type RawServeOptions, type ServeFlagName, serveFlags } from '../serve-flags.ts';
import type { ServeOptionsResult } from '../validate-serve-options.ts';
import { changedSettings, configurationChanges, liveOptions } from './configuration-changes.ts';
import { routerConfiguration } from './configuration-kind.ts';
import {
  type ConfiguredOptions,
  configuredOptions,
  describeConfigurationFault,
  locateFault,
  withFlags,
} from './configured-options.ts';
import { parseConfiguration } from './parse-configuration.ts';

export interface ConfigurationSourceOptions {
  /** The file as it was read at start. */
  readonly started: ConfiguredOptions<ServeFlagName>;
  /** What was given by flags, which win over the file for as long as the process runs. */
  readonly flags: RawServeOptions;
  /** Checks options as at the start, with the files that they name. */
  readonly validate: (raw: RawServeOptions) => Promise<ServeOptionsResult>;
}

/** Reads the configuration file of a running router again, by the checks of the start. */
export function createConfigurationSource(options: ConfigurationSourceOptions): ConfigurationSource {
  const { started, flags, validate } = options;
  const { file, text } = started;
  const startedOptions = withFlags(started, flags);

  return {
    path: file,
    text,
    async read(next, inUse) {
      const configured = configuredFrom(file, next);
      const nextOptions = withFlags(configured, flags);
      const describe = (faults: readonly FlagFault[]) =>
        faults.map((fault) => locateFault(fault, configured, flags));
      const whole = await validate(nextOptions);
      if (!whole.ok) throw refusal(describe(whole.faults));
      const warnings = describe([...deprecationWarnings(serveFlags, nextOptions), ...whole.warnings]);
      const { needsRestart } = configurationChanges(startedOptions, nextOptions);
      if (needsRestart.length === 0) return inEffect(whole.config, [], inUse, warnings);
      // Some values go together: what can change now may be at fault without what cannot.
      const partial = await validate(liveOptions(startedOptions, nextOptions));
      if (partial.ok) return inEffect(partial.config, needsRestart, inUse, warnings);
      const pending = changedSettings(inUse, whole.config.commandLine.flags);
      return { config: undefined, changed: [], needsRestart: pending, warnings };
    },
  };
}

function inEffect(
  config: ServeConfig,
  needsRestart: readonly SettingChange[],
  inUse: ServeConfig['commandLine']['flags'],
  warnings: readonly string[],
): ConfigurationReading {
  return { config, changed: changedSettings(inUse, config.commandLine.flags), needsRestart, warnings };
}

function configuredFrom(file: string, text: string): ConfiguredOptions<ServeFlagName> {
  const parsed = parseConfiguration(text, routerConfiguration);
  if (parsed.ok) return configuredOptions(file, text, parsed.values);
  throw refusal(parsed.faults.map((fault) => describeConfigurationFault(file, fault)));
}

function refusal(faults: readonly string[]): Error {
  return new Error(faults.join('; '));
}
