import { firstHeader } from '../../apimachinery/raw-headers.ts';
import type { RequestInfo } from '../../apimachinery/request-info.ts';
import type { Destination } from '../../request/destination.ts';
import type { InboundRequest } from '../../request/inbound.ts';
import type { AttemptFailure, DropReason, RequestObservation } from '../../request/request-observation.ts';
import type { RequestObserver } from '../../request/request-observer.ts';
import type { Caller } from '../../request/user-info.ts';
import type { Decision } from '../../routing/decision.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import type { DestinationSeries, DestinationSeriesIndex } from './destination-series.ts';
import type { HistogramSeries, NumberSeries } from './metric-family.ts';
import type { MetricRegistry } from './metric-registry.ts';
import { type RequestSeries, RequestSeriesIndex } from './request-series.ts';

export interface RequestMetricsOptions {
  readonly registry: MetricRegistry;
  readonly destinations: DestinationSeriesIndex;
  readonly currentTable: () => RoutingTable | undefined;
  /** Milliseconds of a monotonic clock. Default `performance.now`. */
  readonly clock?: (() => number) | undefined;
}

/**
 * Counts requests. A request costs a few additions and three reads of the clock; series are looked up once and kept.
 */
export class RequestMetrics implements RequestObserver {
  readonly registry: MetricRegistry;
  readonly destinations: DestinationSeriesIndex;
  readonly series: RequestSeriesIndex;
  readonly clock: () => number;
  readonly routing: HistogramSeries;
  readonly tunnels: NumberSeries;
  readonly #decisions = new Map<string, Map<string, NumberSeries>>();
  readonly #authenticators = new Map<string, NumberSeries>();

  constructor(options: RequestMetricsOptions) {
    const { registry, destinations, currentTable, clock = () => performance.now() } = options;
    this.registry = registry;
    this.destinations = destinations;
    this.series = new RequestSeriesIndex(registry.requests, currentTable);
    this.clock = clock;
    this.routing = registry.requests.routingDuration.with();
    this.tunnels = registry.requests.tunnels.with();
  }

  begin(inbound: InboundRequest): RequestObservation {
    return new RequestMeasurement(this, inbound);
  }

  countDecision({ decision, reason }: Decision): void {
    let byReason = this.#decisions.get(decision);
    if (byReason === undefined) {
      byReason = new Map();
      this.#decisions.set(decision, byReason);
    }
    let series = byReason.get(reason);
    if (series === undefined) {
      series = this.registry.requests.decisions.with(decision, reason);
      byReason.set(reason, series);
    }
    series.add();
  }

  countCaller(caller: Caller): void {
    const authenticator = caller.kind === 'authenticated' ? caller.authenticator : caller.kind;
    let series = this.#authenticators.get(authenticator);
    if (series === undefined) {
      series = this.registry.requests.authenticatedRequests.with(authenticator);
      this.#authenticators.set(authenticator, series);
    }
    series.add();
  }
}

class RequestMeasurement implements RequestObservation {
  readonly #metrics: RequestMetrics;
  readonly #inbound: InboundRequest;
  readonly #begun: number;
  #series: RequestSeries | undefined;
  #decision: Decision | undefined;
  #destination: DestinationSeries | undefined;
  #attempts = 0;
  #failure: AttemptFailure | undefined;
  #attemptBegun = 0;
  /** The status of the response; 0: none so far. */
  #status = 0;

  constructor(metrics: RequestMetrics, inbound: InboundRequest) {
    this.#metrics = metrics;
    this.#inbound = inbound;
    this.#begun = metrics.clock();
  }

  accepted(requestInfo: RequestInfo): void {
    const series = this.#metrics.series.of(requestInfo);
    this.#series = series;
    series.inflight.add(1);
    if (series.isLongRunning) series.longRunning.add(1);
    if (!requestInfo.isResourceRequest && requestInfo.path === '/apis') this.#countNoPeer();
  }

  identified(caller: Caller): void {
    this.#metrics.countCaller(caller);
  }

  decided(decision: Decision): void {
    this.#decision = decision;
    this.#metrics.countDecision(decision);
    if (decision.reason === 'PeerAddressUnknown') this.#countPeerProxyError('endpoint_resolution');
  }

  otherVersionAsked(isOlder: boolean): void {
    this.#metrics.registry.requests.otherVersionRequests.with(isOlder ? 'older' : 'newer').add();
  }

  dropped(reason: DropReason): void {
    this.#metrics.registry.requests.droppedRequests.with(reason).add();
  }

  attemptBegun(destination: Destination): void {
    // A second try, after a response that was not forwarded.
    this.#endAttempt();
    const now = this.#metrics.clock();
    this.#attempts += 1;
    if (this.#attempts === 1) this.#metrics.routing.observe((now - this.#begun) / 1000);
    else this.#metrics.registry.destinations.secondTries.with(this.#failure ?? 'NotServed').add();
    this.#attemptBegun = now;
    this.#destination = this.#metrics.destinations.of(destination);
    this.#destination.inflight.add(1);
  }

  attemptResponded(status: number): void {
    const destination = this.#destination;
    if (destination === undefined) return;
    destination.withCode(status).add();
    destination.duration.observe((this.#metrics.clock() - this.#attemptBegun) / 1000);
  }

  responseBytes(): NumberSeries | undefined {
    return this.#series?.responseBytes;
  }

  aggregatedDiscovery(wasMade: boolean): void {
    const { aggregatedDiscoveryHits, aggregatedDiscoveryMisses } = this.#metrics.registry.requests;
    (wasMade ? aggregatedDiscoveryHits : aggregatedDiscoveryMisses).with().add();
  }

  attemptFailed(failure: AttemptFailure): void {
    this.#failure = failure;
    this.#destination?.failed(failure);
    this.#endAttempt();
    const notBuilt = failure === 'AssertionTooLarge' || failure === 'InternalError';
    if (notBuilt && this.#decision?.decision === 'peer') this.#countPeerProxyError('proxy_transport');
  }

  responded(status: number): void {
    this.#status = status;
    if (status !== 101) return;
    this.#metrics.registry.requests.upgrades.with().add();
    this.#metrics.tunnels.add(1);
  }

  finished(): void {
    this.#endAttempt();
    const status = this.#status;
    if (status === 101) this.#metrics.tunnels.add(-1);
    if (this.#series === undefined) {
      this.#metrics.series.refused.withCode(status).add();
      return;
    }
    const series = this.#series;
    series.inflight.add(-1);
    if (series.isLongRunning) series.longRunning.add(-1);
    if (this.#decision?.decision === 'peer') series.rerouted(status).add();
    if (status === 0) {
      this.#metrics.registry.requests.requestAborts.with(series.labels.verb).add();
      return;
    }
    series.withCode(status).add();
    if (!series.isLongRunning) series.duration.observe((this.#metrics.clock() - this.#begun) / 1000);
  }

  #endAttempt(): void {
    this.#destination?.inflight.add(-1);
    this.#destination = undefined;
  }

  #countPeerProxyError(type: 'endpoint_resolution' | 'proxy_transport'): void {
    const labels = this.#series?.labels;
    if (labels === undefined) return;
    const { group, version, resource } = labels;
    this.#metrics.registry.requests.peerProxyErrors.with(type, group, version, resource).add();
  }

  #countNoPeer(): void {
    if (/;\s*profile=nopeer\b/.test(firstHeader(this.#inbound.headers, 'accept') ?? '')) {
      this.#metrics.registry.requests.noPeerDiscovery.with().add();
    }
  }
}
