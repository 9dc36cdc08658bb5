import { type CommandContext, CommandFailure, readInputFile } from '../command-context.ts';
import {
  type ConfiguredOptions,
  configuredOptions,
  describeConfigurationFault,
} from './configured-options.ts';
import { parseConfiguration } from './parse-configuration.ts';

/** What `--config` names. @throws {CommandFailure} exit code 2, one line for each fault with its place. */
export function readConfigurationFile(context: CommandContext, file: string): ConfiguredOptions {
  const parsed = parseConfiguration(readInputFile(context, '--config', file));
  if (parsed.ok) return configuredOptions(file, parsed.values);
  throw new CommandFailure(
    2,
    parsed.faults.map((fault) => describeConfigurationFault(file, fault)),
  );
}
