import { after } from 'node:test';
import { parseRequestInfo } from '../../src/apimachinery/request-info.ts';
import { memoryForOthers } from '../../src/node/exchange/serving-limits.ts';
import { RouterMetrics } from '../../src/node/metrics/router-metrics.ts';
import { type EmbeddedSyncStatus, kubeApiServerManifest } from '../../src/own-paths/status/status-sources.ts';
import { type Destination, TransportError } from '../../src/request/destination.ts';
import { type InboundRequest, RequestRecord } from '../../src/request/inbound.ts';
import type { Decision, DecisionReason } from '../../src/routing/decision.ts';
import type { ServerReport } from '../../src/servers/server-book.ts';
import type { RefusedAddress } from '../../src/snapshot/receiving/refused-addresses.ts';
import { buildRoutingTable } from '../../src/snapshot/routing-table/build-routing-table.ts';
import type { RoutingTable } from '../../src/snapshot/routing-table/routing-table.ts';
import { snapshotOf } from '../support/snapshots/snapshot-builder.ts';

/** When what happens in the rows happens. */
export const now = Date.parse('2026-01-01T12:00:00Z');
const at = (seconds: number): string => new Date(now + seconds * 1000).toISOString();

const tableOf = (options: Parameters<typeof snapshotOf>[1] = {}): RoutingTable =>
  buildRoutingTable(
    snapshotOf(
      {
        a: ['v1/pods', 'apps/v1/deployments'],
        b: { serves: ['v1/pods', 'batch/v1/jobs'] },
        c: { serves: ['v1/pods'], withoutAddress: true },
      },
      { createdAt: at(-90), generation: 7, ...options },
    ),
  );
const peer: Destination = {
  kind: 'peer',
  id: 'b',
  origin: 'https://10.0.0.2:6443',
  serverName: 'kubernetes.default.svc',
  trust: { kind: 'peer-ca' },
};
const decided = (decision: Decision['decision'], reason: DecisionReason): Decision => ({
  decision,
  reason,
  candidates: [],
});
const rerouted = decided('peer', 'ServedByPeer');
const failure = (code: 'ConnectFailed' | 'TLSFailed', cause?: object) =>
  new TransportError(code, 'refused', { mayHaveBeenProcessed: false, cause });

/** A router's metrics, and what it tells of itself. */
export function newRouter() {
  const state = {
    certificates: [] as { name: string; path: string; notBefore: string; notAfter: string; error?: string }[],
    keyFiles: [] as { name: string; path: string; lastError: string | null }[],
    sync: undefined as EmbeddedSyncStatus | undefined,
    inFlight: 0,
    retryBudget: 0,
    refusedAddresses: [] as RefusedAddress[],
    health: [] as ServerReport[],
    clock: 0,
  };
  const file = { lastReload: null, daysLeft: 1, subject: '' };
  const metrics = new RouterMetrics({ featureGateEnabled: true, version: 'v0.1.0' });
  const scraped = metrics.scrapedWith({
    credentialFiles: {
      certificates: () =>
        state.certificates.map(({ error = null, ...each }) => ({ ...file, ...each, lastError: error })),
      keyFiles: () => state.keyFiles.map((each) => ({ ...file, ...each })),
    },
    embeddedSync: () => state.sync,
    inFlight: (_id, kind) => (kind === 'longRunning' ? state.inFlight : 0),
    retryBudget: () => state.retryBudget,
    heldBytes: () => memoryForOthers.bytes,
    refusedAddresses: () => state.refusedAddresses,
    health: () => state.health,
  });
  /** A request that has begun. */
  const begin = (target: string, method = 'GET', headers: readonly string[] = []) => {
    let end = (): void => {};
    const inbound: InboundRequest = {
      method,
      target,
      headers,
      connection: {},
      body: () => null,
      signal: new AbortController().signal,
      onFinished(listener) {
        end = listener;
      },
    };
    const record = new RequestRecord(inbound, [metrics.requests], () => state.clock);
    record.accepted(parseRequestInfo(method, target));
    return { record, end: () => end() };
  };
  return {
    state,
    metrics,
    scraped,
    begin,
    use(table: RoutingTable = tableOf()) {
      metrics.tableInUse(table, [peer]);
    },
    /** One that is over. */
    pass(
      target: string,
      status: number,
      decision: Decision = rerouted,
      tries: readonly (number | 'Timeout')[] = [],
    ) {
      const { record, end } = begin(target);
      record.decision = decision;
      for (const result of tries) {
        record.attemptBegun(peer);
        record.attemptEnded(result);
      }
      record.responded(status);
      end();
    },
  };
}

export type Router = ReturnType<typeof newRouter>;

const jobs = '/apis/batch/v1/jobs';
const ofJobs = { group: 'batch', version: 'v1', resource: 'jobs' };
const listJobs = { verb: 'LIST', ...ofJobs, subresource: '', scope: 'cluster' };
const ofPeer = { destination: 'b', kind: 'peer' };
export const kubeconfig = { flag: '--kubeconfig', path: '/k' };
export const certificate = { name: 'kubeconfig', path: '/k', notBefore: at(-600), notAfter: at(3_000) };
export const prefixed = (name: string): string => `mixed_version_proxy_${name}`;

/** An event of a router, and the value of one of its series afterwards. */
export interface Row {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly event: (router: Router) => void;
  readonly value: number;
}

export const rows: readonly Row[] = [
  {
    name: 'apiserver_rerouted_request_total',
    labels: { code: '503', ...ofJobs },
    event: (router) => {
      router.use();
      router.pass(jobs, 503);
      router.pass(jobs, 200);
      router.pass('/api/v1/pods', 503, decided('local', 'ServedLocally'));
    },
    value: 1,
  },
  {
    name: 'apiserver_peer_proxy_errors_total',
    labels: { type: 'endpoint_resolution', ...ofJobs },
    event: (router) => {
      router.use();
      router.pass(jobs, 503, decided('unavailable', 'PeerAddressUnknown'));
    },
    value: 1,
  },
  {
    name: 'aggregator_discovery_nopeer_requests_total',
    event: ({ begin }) => void begin('/apis', 'GET', ['Accept', 'application/json;profile=nopeer']),
    value: 1,
  },
  ...(['kept', 'merged'] as const).map((aggregatedDiscovery) => ({
    name: `aggregator_discovery_peer_aggregated_cache_${aggregatedDiscovery === 'kept' ? 'hits' : 'misses'}_total`,
    event: ({ begin }: Router) => {
      const { record } = begin('/apis');
      record.aggregatedDiscovery = aggregatedDiscovery;
      record.responded(200);
    },
    value: 1,
  })),
  {
    name: prefixed('requests_total'),
    labels: { ...listJobs, code: '500', source: 'client' },
    event: (router) => {
      router.use();
      router.pass(jobs, 500);
      router.pass(jobs, 500, decided('local', 'AlreadyRerouted'));
      router.pass('/readyz', 500, decided('local', 'NotAResourceRequest'));
    },
    value: 1,
  },
  {
    name: `${prefixed('request_duration_seconds')}_sum`,
    labels: { verb: 'LIST', scope: 'cluster' },
    event: ({ state, begin }) => {
      const { record, end } = begin(jobs);
      record.responded(200);
      state.clock = 1_500;
      end();
    },
    value: 1.5,
  },
  {
    name: prefixed('response_bytes_total'),
    labels: listJobs,
    event: (router) => {
      router.use();
      router.begin(jobs).record.responseBytes?.add(300);
    },
    value: 300,
  },
  {
    name: `${prefixed('routing_duration_seconds')}_sum`,
    event: ({ state, begin }) => {
      const { record } = begin(jobs);
      state.clock = 2;
      record.attemptBegun(peer);
      record.attemptEnded(200);
    },
    value: 0.002,
  },
  {
    name: prefixed('dropped_requests_total'),
    labels: { reason: 'Overloaded' },
    event: ({ begin }) => {
      const { record, end } = begin(jobs);
      record.turnedAway('Overloaded');
      end();
    },
    value: 1,
  },
  {
    name: prefixed('other_version_requests_total'),
    labels: { age: 'older' },
    event: ({ begin }) => {
      const { record } = begin(jobs);
      record.inbound.otherVersion = { minor: '1.35', isOlder: true };
      record.responded(200);
    },
    value: 1,
  },
  {
    name: prefixed('current_inflight_requests'),
    labels: { request_kind: 'mutating' },
    event: ({ begin }) => {
      begin(jobs, 'POST');
      begin(jobs, 'POST').end();
    },
    value: 1,
  },
  {
    name: prefixed('decisions_total'),
    labels: { decision: 'peer', reason: 'ServedByPeer' },
    event: (router) => router.pass(jobs, 200),
    value: 1,
  },
  {
    name: prefixed('destination_requests_total'),
    labels: { ...ofPeer, code: '404' },
    event: (router) => {
      router.use();
      router.pass(jobs, 200, rerouted, [404]);
    },
    value: 1,
  },
  {
    name: prefixed('destination_errors_total'),
    labels: { ...ofPeer, error: 'Timeout' },
    event: (router) => {
      router.use();
      router.pass(jobs, 503, rerouted, ['Timeout']);
    },
    value: 1,
  },
  {
    name: prefixed('destination_inflight_requests'),
    labels: { ...ofPeer, request_kind: 'longRunning' },
    event: (router) => {
      router.use();
      router.state.inFlight = 3;
    },
    value: 3,
  },
  {
    name: `${prefixed('destination_response_duration_seconds')}_sum`,
    labels: ofPeer,
    event: ({ state, begin }) => {
      const { record } = begin(jobs);
      record.attemptBegun(peer);
      state.clock = 250;
      record.attemptEnded(200);
    },
    value: 0.25,
  },
  {
    name: prefixed('destination_health'),
    labels: { destination: 'b', status: 'unready' },
    event: ({ state }) => {
      const found = { status: 'unready', reason: undefined, isUp: false, isDown: true } as const;
      state.health = [{ id: 'b', ...found, forMilliseconds: 0, isHeard: true }];
    },
    value: 1,
  },
  {
    name: prefixed('destination_put_aside_total'),
    labels: { destination: 'b' },
    event: ({ metrics }) => metrics.lost('b'),
    value: 1,
  },
  {
    name: prefixed('second_tries_total'),
    labels: { cause: 'Timeout' },
    event: (router) => router.pass(jobs, 200, rerouted, ['Timeout', 200]),
    value: 1,
  },
  {
    name: prefixed('retry_budget'),
    event: ({ state }) => {
      state.retryBudget = 9.5;
    },
    value: 9.5,
  },
  {
    name: prefixed('destination_connect_errors_total'),
    labels: { ...ofPeer, cause: 'expired_cert' },
    event: (router) => {
      router.use();
      router.metrics.dialFailed(peer, failure('TLSFailed', { code: 'CERT_HAS_EXPIRED' }));
    },
    value: 1,
  },
  {
    name: 'apiserver_peer_discovery_sync_errors_total',
    labels: { type: 'hostport_resolution' },
    event: (router) => router.use(),
    value: 1,
  },
  {
    name: 'apiserver_peer_discovery_sync_errors_total',
    labels: { type: 'fetch_discovery' },
    event: ({ metrics }) => {
      metrics.sync.serverRead({ seconds: 1, result: 'failure' });
      metrics.sync.serverRead({ seconds: 1, result: 'success' });
    },
    value: 1,
  },
  {
    name: prefixed('refused_addresses'),
    event: ({ state }) => {
      state.refusedAddresses = [{ id: 'c', address: '169.254.169.254:80', reason: 'link-local' }];
    },
    value: 1,
  },
  { name: prefixed('snapshot_generation'), event: (router) => router.use(), value: 7 },
  {
    name: prefixed('snapshot_content_info'),
    event: (router) => {
      router.use();
      router.use(
        tableOf({ generation: 8, customResourceGroups: [{ group: 'cats.example', version: 'v1' }] }),
      );
    },
    value: 1,
  },
  { name: prefixed('snapshot_age_seconds'), event: (router) => router.use(), value: 90 },
  {
    name: prefixed('snapshot_pushes_total'),
    labels: { result: 'BadSignature' },
    event: ({ metrics }) => metrics.snapshotPushed('BadSignature'),
    value: 1,
  },
  {
    name: prefixed('certificate_expiration_timestamp_seconds'),
    labels: kubeconfig,
    event: ({ state }) => {
      // Two in one file: the one that ends first counts.
      state.certificates = [certificate, { ...certificate, notAfter: at(9_000) }];
    },
    value: now / 1000 + 3_000,
  },
  {
    name: prefixed('certificate_lifetime_seconds'),
    labels: kubeconfig,
    event: ({ state }) => {
      state.certificates = [certificate, { ...certificate, notAfter: at(9_000) }];
    },
    value: 3_600,
  },
  {
    name: prefixed('credential_file_reload_failed'),
    labels: kubeconfig,
    event: ({ state }) => {
      state.certificates = [{ ...certificate, error: 'no PEM' }];
    },
    value: 1,
  },
  {
    name: prefixed('kube_apiserver_moved'),
    event: ({ state }) => {
      state.keyFiles = [{ name: kubeApiServerManifest, path: '/m', lastError: 'listens on 6443' }];
    },
    value: 1,
  },
  {
    name: prefixed('memory_reliefs_total'),
    labels: { action: 'ended' },
    event: ({ metrics }) => metrics.relieved('ended'),
    value: 1,
  },
  {
    name: prefixed('held_bytes'),
    event: () => {
      const connection = { giveUp: () => {} };
      const account = memoryForOthers.account({ name: 'a client', isVerified: true, connection });
      account.add(1_000);
      after(() => account.close());
    },
    value: 1_000,
  },
  {
    name: prefixed('folded_series_total'),
    labels: { metric: 'apiserver_rerouted_request_total' },
    event: (router) => {
      const serves = Array.from({ length: 2_501 }, (_, index) => `batch/v1/r${index}`);
      router.use(buildRoutingTable(snapshotOf({ b: serves })));
      for (const path of serves) for (const code of [200, 500]) router.pass(`/apis/${path}`, code);
    },
    value: 2,
  },
  {
    name: prefixed('sync_servers'),
    labels: { state: 'unreachable' },
    event: ({ state }) => {
      const servers = [{ state: 'unreachable' }, { state: 'ready' }] as const;
      state.sync = {
        source: '/k',
        lastRoundAt: now,
        lastReadAt: now,
        servers,
        warnings: [],
        refusedAddresses: [],
      };
    },
    value: 1,
  },
  {
    name: prefixed('sync_last_round_timestamp_seconds'),
    event: ({ state }) => {
      state.sync = {
        source: '/k',
        lastRoundAt: now,
        lastReadAt: now,
        servers: [],
        warnings: [],
        refusedAddresses: [],
      };
    },
    value: now / 1000,
  },
  {
    name: `${prefixed('sync_read_duration_seconds')}_sum`,
    labels: { result: 'success' },
    event: ({ state, metrics }) => {
      state.sync = {
        source: '/k',
        lastRoundAt: now,
        lastReadAt: now,
        servers: [],
        warnings: [],
        refusedAddresses: [],
      };
      metrics.sync.serverRead({ seconds: 0.5, result: 'success' });
    },
    value: 0.5,
  },
];
