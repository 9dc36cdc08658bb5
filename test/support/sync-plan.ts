import { givenByFlags, Settings } from '../../src/cli/settings/read-settings.ts';
import { planSync, type SyncFlags } from '../../src/cli/sync/plan-sync.ts';
import { syncFlags } from '../../src/cli/sync/sync-settings.ts';
import { commandContext } from './command-context.ts';

/** What `sync` is to do, and a line for each error. */
export function plannedSync(given: SyncFlags, files: ReadonlyMap<string, string>) {
  const settings = new Settings(
    syncFlags,
    [givenByFlags(syncFlags, given)],
    commandContext(files).context.readFile,
  );
  const plan = planSync(settings);
  return { plan, issues: settings.issues.map(({ message }) => message).join('\n') };
}
