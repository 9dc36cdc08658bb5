import { syncConfiguration } from '../config/configuration-kind.ts';
import {
  type ConfiguredOptions,
  locateIssue,
  namesGivenFlags,
  readConfigurationFile,
  withFlags,
} from '../config/configured-options.ts';
import { deprecationWarnings } from '../flags/deprecated-flags.ts';
import { splitList } from '../flags/flag-values.ts';
import {
  type SyncArguments,
  type SyncFlagName,
  syncFlags,
  syncFlagValue,
} from '../flags/sync-flag-groups.ts';
import { type CommandContext, CommandFailure } from '../terminal/command-context.ts';
import { planSync, type SyncFlags, type SyncPlan } from './sync-flags.ts';

export interface SyncInput {
  readonly flags: SyncFlags;
  readonly plan: SyncPlan;
}

/**
 * What a call of another kind than a running sync job has no use for. A flag that says it is a mistake; in a
 * configuration file, which is the same for all calls, it is not.
 */
const leaderElection = [
  'leader-elect',
  'leader-elect-lease-name',
  'leader-elect-lease-namespace',
  'leader-elect-lease-duration',
] as const;
const running = ['interval', 'health-port', ...leaderElection] as const;
const pushing = ['target', 'worker-target', 'kv-namespace-id', 'state-file'] as const;
const cluster = ['kubeconfig', 'context', 'in-cluster', 'departed-server-grace'] as const;
const uselessWith: Readonly<Record<'once' | 'from' | 'record', readonly SyncFlagName[]>> = {
  once: running,
  from: [...running, ...pushing, ...cluster],
  record: [...running, ...pushing, ...cluster, 'out', 'unsigned', 'compare-schemas'],
};

/**
 * Checks all that `sync` was called with: flags, configuration file, and the files that they name. Warnings are
 * printed.
 * @throws {CommandFailure} exit code 2, one line for every error.
 */
export function readSyncInput(given: SyncArguments, context: CommandContext): SyncInput {
  const file = given.config?.at(-1);
  const issuesOfFile: string[] = [];
  const configured =
    file === undefined ? undefined : readConfigurationFile(context, file, syncConfiguration, issuesOfFile);
  const options = withFlags(configured && usefulOf(configured, given), given);
  for (const warning of deprecationWarnings(syncFlags, options)) {
    context.writeError(`warning: ${locateIssue(warning, configured, given)}\n`);
  }
  const issues: string[] = [];
  const flags = syncFlagsOf(options, issues);
  const planned = planSync(flags, context);
  if ('issues' in planned) issues.push(...planned.issues);
  const isCertain = (message: string) => issuesOfFile.length === 0 || namesGivenFlags(message, options);
  if (issues.length + issuesOfFile.length > 0 || !('plan' in planned)) {
    const certain = issues.filter(isCertain).map((message) => locate(message, configured, given));
    throw new CommandFailure(2, [...issuesOfFile, ...certain]);
  }
  return { flags, plan: planned.plan };
}

function usefulOf(
  configured: ConfiguredOptions<SyncFlagName>,
  given: SyncArguments,
): ConfiguredOptions<SyncFlagName> {
  const raw: Partial<Record<SyncFlagName, readonly string[]>> = { ...configured.raw };
  for (const call of ['once', 'from', 'record'] as const) {
    if (given[call] === undefined) continue;
    for (const name of uselessWith[call]) delete raw[name];
  }
  return { ...configured, raw };
}

function syncFlagsOf(raw: SyncArguments, issues: string[]): SyncFlags {
  const flags: Record<string, string | readonly string[] | boolean> = {};
  for (const flag of syncFlags) {
    const { name, value } = flag;
    const values = raw[name];
    if (values === undefined) continue;
    const text = values.at(-1) ?? '';
    const attribute = name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
    if (value.kind === 'list') flags[attribute] = values.flatMap(splitList);
    else if (value.kind === 'value') flags[attribute] = text;
    else {
      const isOn = syncFlagValue(name, text, issues);
      const isOffByDefault = !('default' in flag && flag.default === 'true');
      if (isOn === true || (isOn === false && !isOffByDefault)) flags[attribute] = isOn;
    }
  }
  return {
    ...flags,
    v: syncFlagValue('v', raw.v?.at(-1), issues) ?? 0,
    loggingFormat: syncFlagValue('logging-format', raw['logging-format']?.at(-1), issues) ?? 'text',
  };
}

/** A message that names a flag is about the first one that it names. */
function locate(
  message: string,
  configured: ConfiguredOptions<SyncFlagName> | undefined,
  given: SyncArguments,
): string {
  const flag = /--([a-z][a-z0-9-]*)/.exec(message)?.[1];
  return flag === undefined ? message : locateIssue({ flag: `--${flag}`, message }, configured, given);
}
