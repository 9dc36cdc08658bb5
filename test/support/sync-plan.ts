import { FlagValues } from '../../src/cli/flags/flag-values.ts';
import { type SyncArguments, type SyncFlagValues, syncFlags } from '../../src/cli/flags/sync-flag-groups.ts';
import { planSync, type SyncPlan } from '../../src/cli/sync/sync-flags.ts';
import { commandContext } from './command-context.ts';

/** What was given to `sync`, with the files that it names. */
export function syncFlagValues(given: SyncArguments, files: ReadonlyMap<string, string>): SyncFlagValues {
  return new FlagValues(syncFlags, given, commandContext(files).context.readFile);
}

/** What `sync` is to do, and a line for each error. */
export function plannedSync(
  given: SyncArguments,
  files: ReadonlyMap<string, string>,
): { readonly plan: SyncPlan; readonly issues: string } {
  const flags = syncFlagValues(given, files);
  const plan = planSync(flags);
  return { plan, issues: messagesOf(flags).join('\n') };
}

export function messagesOf({ issues }: SyncFlagValues): readonly string[] {
  return issues.map(({ message }) => message);
}
