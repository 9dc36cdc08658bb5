import { createHash } from 'node:crypto';
import type { Relief } from '../../../packages/http2/shared.ts';
import type { CheckedHealth, MetricsSource } from '../../own-paths/metrics-endpoints.ts';
import {
  type CredentialFiles,
  type EmbeddedSyncStatus,
  kubeApiServerManifest,
} from '../../own-paths/status/status-sources.ts';
import type { LoadKind } from '../../proxy/server-choice.ts';
import type { Destination, TransportError } from '../../request/destination.ts';
import type { RequestObserver } from '../../request/inbound.ts';
import type { HealthObserver, ServerReport } from '../../servers/server-book.ts';
import type { Snapshot } from '../../snapshot/format/schema.ts';
import type { PushResult } from '../../snapshot/receiving/receiver.ts';
import type { RefusedAddress } from '../../snapshot/receiving/refused-addresses.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import type { SyncObserver } from '../../sync/documents/sync-server.ts';
import type { ServeConfig } from '../configuration/serve-config.ts';
import { createMetricRegistry, type MetricRegistry, updateSync } from './catalogue.ts';
import { DestinationSeriesIndex } from './connection-metrics.ts';
import { expose } from './metric-family.ts';
import { observeProcess, processMetrics } from './process-metrics.ts';
import { RequestMetrics } from './request-metrics.ts';

/** Counts of a router. The state of things just now is asked of their owners at each scrape. */
export class RouterMetrics implements HealthObserver {
  readonly requests: RequestObserver;
  readonly #registry: MetricRegistry = createMetricRegistry();
  readonly #destinations: DestinationSeriesIndex;
  #table: RoutingTable | undefined;
  #countedSnapshot: Snapshot | undefined;

  constructor(config: Pick<ServeConfig, 'featureGateEnabled' | 'version'>) {
    this.#destinations = new DestinationSeriesIndex(this.#registry.destinations);
    this.requests = new RequestMetrics({
      registry: this.#registry,
      destinations: this.#destinations,
      currentTable: () => this.#table,
    });
    const { state } = this.#registry;
    state.buildInfo.with(config.version, process.version).set(1);
    state.featureEnabled
      .with('UnknownVersionInteroperabilityProxy', 'ALPHA')
      .set(config.featureGateEnabled ? 1 : 0);
    observeProcess();
  }

  tableInUse(table: RoutingTable, destinations: readonly Destination[]): void {
    this.#table = table;
    this.#destinations.retain(destinations);
    // A renewal puts a table in use too: it has the same snapshot.
    if (table.snapshot === this.#countedSnapshot) return;
    this.#countedSnapshot = table.snapshot;
    const unresolved = table.servers.filter(
      ({ origin, departed }) => origin === undefined && !departed,
    ).length;
    this.#registry.state.peerDiscoverySyncErrors.with('hostport_resolution').add(unresolved);
    const { snapshotContent } = this.#registry.state;
    snapshotContent.clear();
    snapshotContent.with(contentHash(table)).set(1);
  }

  dialFailed(destination: Destination, error: TransportError): void {
    this.#destinations.at(destination)?.connectFailed(error);
  }

  relieved(relief: Relief): void {
    this.#registry.state.memoryReliefs.with(relief).add();
  }

  snapshotPushed(result: PushResult): void {
    this.#registry.state.snapshotPushes.with(result).add();
  }

  lost(id: string): void {
    this.#registry.destinations.putAside.with(id).add();
  }

  readonly sync: SyncObserver = {
    serverRead: ({ seconds, result }) => {
      this.#registry.sync.reads.with(result).observe(seconds);
      if (result === 'failure') this.#registry.state.peerDiscoverySyncErrors.with('fetch_discovery').add();
    },
    // Each is counted as what the receiver made of it.
    delivered: () => {},
  };

  /** @returns what own paths serve: the counts, and with them what `sources` say at that moment */
  scrapedWith(sources: StateSources): MetricsSource {
    return { scrape: (health) => this.#scrape(sources, health) };
  }

  async #scrape(sources: StateSources, health: readonly CheckedHealth[]): Promise<string> {
    const { requests, destinations, state, sync } = this.#registry;
    const embeddedSync = sources.embeddedSync();
    updateStateMetrics(this.#registry, this.#table, sources, Date.now());
    for (const { endpoint, name, isHealthy } of health) {
      state.healthcheck.with(name, endpoint).set(isHealthy ? 1 : 0);
    }
    this.#destinations.tellInFlight(sources.inFlight);
    if (embeddedSync !== undefined) updateSync(sync, embeddedSync);
    for (const family of Object.values({ ...requests, ...destinations })) {
      const { name, labels } = family.definition;
      if (labels.length > 0) state.foldedSeries.with(name).set(family.folded);
    }
    const own = expose([
      ...Object.values(requests),
      ...Object.values(destinations),
      ...Object.values(state),
      // Where snapshots are pushed, the sync job has these.
      ...(embeddedSync === undefined ? [] : Object.values(sync)),
    ]);
    return own + (await processMetrics());
  }
}

interface StateSources {
  readonly refusedAddresses: () => readonly RefusedAddress[];
  readonly credentialFiles: CredentialFiles;
  readonly embeddedSync: () => EmbeddedSyncStatus | undefined;
  readonly inFlight: (id: string, kind: LoadKind) => number;
  readonly retryBudget: () => number;
  /** For others. */
  readonly heldBytes: () => number;
  readonly health: () => readonly ServerReport[];
}

function updateStateMetrics(
  { state, destinations }: MetricRegistry,
  table: RoutingTable | undefined,
  sources: StateSources,
  now: number,
): void {
  state.snapshotGeneration.with().set(table?.generation ?? 0);
  state.snapshotAge.clear();
  if (table !== undefined) state.snapshotAge.with().set((now - table.createdAt) / 1000);
  state.refusedAddresses.with().set(sources.refusedAddresses().length);
  updateCredentials(state, sources.credentialFiles);
  state.heldBytes.with().set(sources.heldBytes());
  destinations.retryBudget.with().set(sources.retryBudget());
  destinations.health.clear();
  for (const { id, status } of sources.health()) destinations.health.with(id, status).set(1);
}

function updateCredentials(state: MetricRegistry['state'], files: CredentialFiles): void {
  const { certificateExpiration, certificateLifetime, credentialReloadFailed } = state;
  for (const family of [certificateExpiration, certificateLifetime, credentialReloadFailed]) family.clear();
  const certificates = files.certificates();
  // The earliest of one file last: it is the one that counts.
  const byExpiry = certificates.toSorted(
    (one, other) => Date.parse(other.notAfter) - Date.parse(one.notAfter),
  );
  for (const { name, path, notBefore, notAfter } of byExpiry) {
    const expires = Date.parse(notAfter);
    certificateExpiration.with(`--${name}`, path).set(expires / 1000);
    certificateLifetime.with(`--${name}`, path).set((expires - Date.parse(notBefore)) / 1000);
  }
  let isMoved = false;
  for (const { name, path, lastError } of [...certificates, ...files.keyFiles()]) {
    if (name === kubeApiServerManifest) {
      isMoved = lastError !== null;
      continue;
    }
    credentialReloadFailed.with(`--${name}`, path).set(lastError === null ? 0 : 1);
  }
  state.kubeApiServerMoved.with().set(isMoved ? 1 : 0);
}

/** Hash of the content that decides, and not of how a router came to know it. */
function contentHash({ snapshot }: RoutingTable): string {
  const { servers, apiServices, customResourceGroups } = snapshot;
  const said = [
    servers.map(({ id, version = '', serves = '', departedAt }) => [
      id,
      version,
      serves,
      departedAt !== undefined,
    ]),
    apiServices.map(({ group, version, service, available }) => [
      group,
      version,
      service !== undefined,
      available,
    ]),
    customResourceGroups.map(({ group, version }) => [group, version]),
  ].map((entries) => entries.map((entry) => JSON.stringify(entry)).sort());
  return `sha256:${createHash('sha256').update(JSON.stringify(said)).digest('hex')}`;
}
