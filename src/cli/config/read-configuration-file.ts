import { type CommandContext, CommandFailure, readInputFile } from '../terminal/command-context.ts';
import type { ConfigurationKind } from './configuration-kind.ts';
import {
  type ConfiguredOptions,
  configuredOptions,
  describeConfigurationFault,
} from './configured-options.ts';
import { parseConfiguration } from './parse-configuration.ts';

/** What `--config` names. @throws {CommandFailure} exit code 2, one line for each fault with its place. */
export function readConfigurationFile<Name extends string>(
  context: CommandContext,
  file: string,
  kind: ConfigurationKind<Name>,
): ConfiguredOptions<Name> {
  const text = readInputFile(context, '--config', file);
  const parsed = parseConfiguration(text, kind);
  if (parsed.ok) return configuredOptions(file, text, parsed.values);
  throw new CommandFailure(
    2,
    parsed.faults.map((fault) => describeConfigurationFault(file, fault)),
  );
}
