import { type CommandContext, readInputFile } from '../terminal/command-context.ts';
import type { ConfigurationKind } from './configuration-kind.ts';
import {
  type ConfiguredOptions,
  configuredOptions,
  describeConfigurationFault,
} from './configured-options.ts';
import { parseConfiguration } from './parse-configuration.ts';

/**
 * What `--config` names: the values without a fault. The others are told in `faults`, a line each with its place, so
 * that the caller can look for faults of flags and named files in the same run.
 * @throws {CommandFailure} exit code 2 when the file cannot be read
 */
export function readConfigurationFile<Name extends string>(
  context: CommandContext,
  file: string,
  kind: ConfigurationKind<Name>,
  faults: string[],
): ConfiguredOptions<Name> {
  const text = readInputFile(context, '--config', file);
  const parsed = parseConfiguration(text, kind);
  if (!parsed.ok) faults.push(...parsed.faults.map((fault) => describeConfigurationFault(file, fault)));
  return configuredOptions(file, text, parsed.values);
}
