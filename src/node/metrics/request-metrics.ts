import { firstHeader } from '../../apimachinery/raw-headers.ts';
import type { RequestInfo } from '../../apimachinery/request-info.ts';
import type { Attempt, RequestObserver, RequestRecord } from '../../request/request-record.ts';
import type { Caller } from '../../request/user-info.ts';
import type { Decision } from '../../routing/decision.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import type { DestinationSeriesIndex } from './destination-series.ts';
import type { HistogramSeries, NumberSeries } from './metric-family.ts';
import type { MetricRegistry } from './metric-registry.ts';
import { RequestSeries, RequestSeriesIndex } from './request-series.ts';

interface RequestMetricsOptions {
  readonly registry: MetricRegistry;
  readonly destinations: DestinationSeriesIndex;
  readonly currentTable: () => RoutingTable | undefined;
}

/** Counts requests. A request costs a few additions; series are looked up once and kept. */
export class RequestMetrics implements RequestObserver {
  readonly #registry: MetricRegistry;
  readonly #destinations: DestinationSeriesIndex;
  readonly #series: RequestSeriesIndex;
  readonly #routing: HistogramSeries;
  readonly #tunnels: NumberSeries;
  readonly #decisions = new Map<string, Map<string, NumberSeries>>();
  readonly #authenticators = new Map<string, NumberSeries>();

  constructor({ registry, destinations, currentTable }: RequestMetricsOptions) {
    this.#registry = registry;
    this.#destinations = destinations;
    this.#series = new RequestSeriesIndex(registry.requests, currentTable);
    this.#routing = registry.requests.routingDuration.with();
    this.#tunnels = registry.requests.tunnels.with();
  }

  accepted(record: RequestRecord): void {
    const { requestInfo } = record;
    if (requestInfo === undefined) return;
    const series = this.#series.of(requestInfo);
    record.responseBytes = series;
    series.inflight.add(1);
    if (series.isLongRunning) series.longRunning.add(1);
    if (!requestInfo.isResourceRequest && requestInfo.path === '/apis') this.#countNoPeer(record);
  }

  attempted({ attempts, begunAt, requestInfo, decision }: RequestRecord, attempt: Attempt): void {
    const destination = this.#destinations.of(attempt.destination);
    const { failure, status, endedAt } = attempt;
    if (status !== undefined && endedAt !== undefined) {
      destination.responded(status, (endedAt - attempt.begunAt) / 1000);
    }
    const before = attempts[attempts.indexOf(attempt) - 1];
    if (before === undefined) this.#routing.observe((attempt.begunAt - begunAt) / 1000);
    else this.#registry.destinations.secondTries.with(before.failure ?? 'NotServed').add();
    if (failure === undefined) return;
    destination.failed(failure);
    const notBuilt = failure === 'AssertionTooLarge' || failure === 'InternalError';
    if (notBuilt && decision?.decision === 'peer') this.#countPeerProxyError('proxy_transport', requestInfo);
  }

  responded(record: RequestRecord): void {
    this.#countKnown(record);
    const { aggregatedDiscovery, inbound, status } = record;
    const { requests } = this.#registry;
    if (inbound.otherVersion !== undefined) {
      requests.otherVersionRequests.with(inbound.otherVersion.isOlder ? 'older' : 'newer').add();
    }
    if (aggregatedDiscovery === 'kept') requests.aggregatedDiscoveryHits.with().add();
    if (aggregatedDiscovery === 'merged') requests.aggregatedDiscoveryMisses.with().add();
    if (status !== 101) return;
    requests.upgrades.with().add();
    this.#tunnels.add(1);
  }

  finished(record: RequestRecord): void {
    const { status, dropped, decision, begunAt, finishedAt, responseBytes: series } = record;
    const { requests } = this.#registry;
    if (record.respondedAt === undefined) this.#countKnown(record);
    if (dropped !== undefined) requests.droppedRequests.with(dropped).add();
    if (status === 101) this.#tunnels.add(-1);
    if (!(series instanceof RequestSeries)) {
      this.#series.refused.withCode(status).add();
      return;
    }
    series.inflight.add(-1);
    if (series.isLongRunning) series.longRunning.add(-1);
    if (decision?.decision === 'peer') series.rerouted(status).add();
    if (status === 0) {
      requests.requestAborts.with(series.labels.verb).add();
      return;
    }
    series.withCode(status).add();
    if (!series.isLongRunning) series.duration.observe(((finishedAt ?? begunAt) - begunAt) / 1000);
  }

  /** Once for each request: with its response, which may last for hours, or without one at its end. */
  #countKnown({ caller, decision, requestInfo }: RequestRecord): void {
    if (caller !== undefined) this.#countCaller(caller);
    if (decision === undefined) return;
    this.#countDecision(decision);
    if (decision.reason === 'PeerAddressUnknown') {
      this.#countPeerProxyError('endpoint_resolution', requestInfo);
    }
  }

  #countDecision({ decision, reason }: Decision): void {
    let byReason = this.#decisions.get(decision);
    if (byReason === undefined) {
      byReason = new Map();
      this.#decisions.set(decision, byReason);
    }
    let series = byReason.get(reason);
    if (series === undefined) {
      series = this.#registry.requests.decisions.with(decision, reason);
      byReason.set(reason, series);
    }
    series.add();
  }

  #countCaller(caller: Caller): void {
    const authenticator = caller.kind === 'authenticated' ? caller.authenticator : caller.kind;
    let series = this.#authenticators.get(authenticator);
    if (series === undefined) {
      series = this.#registry.requests.authenticatedRequests.with(authenticator);
      this.#authenticators.set(authenticator, series);
    }
    series.add();
  }

  #countPeerProxyError(
    type: 'endpoint_resolution' | 'proxy_transport',
    requestInfo: RequestInfo | undefined,
  ): void {
    if (requestInfo === undefined) return;
    const { group, version, resource } = this.#series.of(requestInfo).labels;
    this.#registry.requests.peerProxyErrors.with(type, group, version, resource).add();
  }

  #countNoPeer({ inbound }: RequestRecord): void {
    if (/;\s*profile=nopeer\b/.test(firstHeader(inbound.headers, 'accept') ?? '')) {
      this.#registry.requests.noPeerDiscovery.with().add();
    }
  }
}
