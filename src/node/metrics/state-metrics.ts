import type { DocumentProblem } from '../../discovery/openapi-v2/build-document.ts';
import type { CredentialFiles } from '../../own-paths/status/credential-files.ts';
import { documentStatus } from '../../own-paths/status/document-status.ts';
import type { EmbeddedSyncSource } from '../../own-paths/status/embedded-sync-status.ts';
import type { SettingsState } from '../../own-paths/status/setting-change.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import type { MetricRegistry } from './metric-registry.ts';
import { syncServerStates } from './state-catalogue.ts';

/** What a scrape reads. Left out: it does not exist (yet). */
export interface StateSources {
  readonly table: () => RoutingTable | undefined;
  readonly credentialFiles?: CredentialFiles | undefined;
  readonly settings?: SettingsState | undefined;
  readonly openApiV2?: { problems(): readonly DocumentProblem[] } | undefined;
  /** Left out where snapshots are pushed. */
  readonly embeddedSync?: EmbeddedSyncSource | undefined;
  /** Second tries that the budget allows now. */
  readonly retryBudget?: (() => number) | undefined;
}

/** Sets the gauges of the router's state. @param now milliseconds since the epoch */
export function updateStateMetrics(
  { state, destinations, sync }: MetricRegistry,
  sources: StateSources,
  now: number,
): void {
  const table = sources.table();
  updateSnapshot(state, table, now);
  updateSync(sync, sources.embeddedSync);
  const { discovery, documents } = documentStatus(table, sources.openApiV2);
  state.discoveryConflicts.with().set(discovery.conflictCount);
  state.documentProblems.with().set(documents.length);
  if (sources.credentialFiles !== undefined) updateCredentials(state, sources.credentialFiles);
  state.settingsNeedingRestart.with().set(sources.settings?.needsRestart().length ?? 0);
  if (sources.retryBudget !== undefined) destinations.retryBudget.with().set(sources.retryBudget());
}

/** Nothing where snapshots are pushed: the sync job has metrics of its own. */
function updateSync(sync: MetricRegistry['sync'], source: EmbeddedSyncSource | undefined): void {
  sync.servers.clear();
  sync.lastRound.clear();
  if (source === undefined) return;
  const { servers, lastReadAt } = source();
  for (const name of syncServerStates) {
    sync.servers.with(name).set(servers.filter(({ state }) => state === name).length);
  }
  if (lastReadAt !== undefined) sync.lastRound.with().set(lastReadAt / 1000);
}

function updateSnapshot(state: MetricRegistry['state'], table: RoutingTable | undefined, now: number): void {
  state.snapshotGeneration.with().set(table?.generation ?? 0);
  state.snapshotAge.clear();
  state.snapshotLifetimeLeft.clear();
  const servers = { current: 0, stale: 0, departed: 0, without_address: 0 };
  for (const { origin, stale, departed } of table?.servers ?? []) {
    const withoutAddress = departed ? 'departed' : 'without_address';
    servers[origin === undefined ? withoutAddress : stale ? 'stale' : 'current'] += 1;
  }
  for (const [name, count] of Object.entries(servers)) state.snapshotServers.with(name).set(count);
  if (table === undefined) return;
  state.snapshotAge.with().set((now - table.createdAt) / 1000);
  state.snapshotLifetimeLeft.with().set((table.expiresAt - now) / 1000);
}

function updateCredentials(state: MetricRegistry['state'], files: CredentialFiles): void {
  const { certificateExpiration, credentialReloadFailed, credentialLastReload } = state;
  for (const family of [certificateExpiration, credentialReloadFailed, credentialLastReload]) family.clear();
  const certificates = files.certificates();
  for (const { name, path, notAfter } of certificates) {
    certificateExpiration.with(`--${name}`, path).set(Date.parse(notAfter) / 1000);
  }
  for (const { name, path, lastReload, lastError } of [...certificates, ...files.keyFiles()]) {
    credentialReloadFailed.with(`--${name}`, path).set(lastError === null ? 0 : 1);
    credentialLastReload.with(`--${name}`, path).set(lastReload === null ? 0 : Date.parse(lastReload) / 1000);
  }
}
