import type { LoggingConfig } from '../../node/configuration/serve-config.ts';
import { syncConfiguration } from '../config/configuration-kind.ts';
import {
  type ConfiguredOptions,
  locateIssue,
  namesGivenFlags,
  readConfigurationFile,
  withFlags,
} from '../config/configured-options.ts';
import { deprecationWarnings } from '../flags/deprecated-flags.ts';
import { FlagValues } from '../flags/flag-values.ts';
import {
  type SyncArguments,
  type SyncFlagName,
  type SyncFlagValues,
  syncFlags,
} from '../flags/sync-flag-groups.ts';
import { type CommandContext, CommandFailure } from '../terminal/command-context.ts';
import { planSync, type SyncPlan, uselessFlags } from './sync-flags.ts';

export interface SyncInput {
  readonly plan: SyncPlan;
  readonly logging: LoggingConfig;
  /** The file of `--snapshot-keys`. */
  readonly snapshotKeys: string | undefined;
}

/**
 * Checks all that `sync` was called with: flags, configuration file, and the files that they name. Warnings are
 * printed.
 * @throws {CommandFailure} exit code 2, one line for every error.
 */
export function readSyncInput(given: SyncArguments, context: CommandContext): SyncInput {
  const flagsOf = (raw: SyncArguments): SyncFlagValues => new FlagValues(syncFlags, raw, context.readFile);
  const file = given.config?.at(-1);
  const issuesOfFile: string[] = [];
  const configured =
    file === undefined ? undefined : readConfigurationFile(context, file, syncConfiguration, issuesOfFile);
  const options = withFlags(configured && without(configured, uselessFlags(flagsOf(given))), given);
  for (const warning of deprecationWarnings(syncFlags, options)) {
    context.writeError(`warning: ${locateIssue(warning, configured, given)}\n`);
  }
  const flags = flagsOf(options);
  const logging = flags.values({ verbosity: 'v', format: 'logging-format' });
  const plan = planSync(flags);
  const snapshotKeys = flags.text('snapshot-keys');
  if (flags.issues.length + issuesOfFile.length > 0 || logging === undefined) {
    const certain = flags.issues.filter(
      ({ message }) => issuesOfFile.length === 0 || namesGivenFlags(message, options),
    );
    const located = certain.map((issue) => locateIssue(issue, configured, given));
    throw new CommandFailure(2, [...issuesOfFile, ...located]);
  }
  return { plan, logging, snapshotKeys };
}

function without(
  configured: ConfiguredOptions<SyncFlagName>,
  names: readonly SyncFlagName[],
): ConfiguredOptions<SyncFlagName> {
  const raw = { ...configured.raw };
  for (const name of names) delete raw[name];
  return { ...configured, raw };
}
