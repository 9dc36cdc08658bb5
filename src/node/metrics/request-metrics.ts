import { firstHeader } from '../../apimachinery/raw-headers.ts';
import type { RequestInfo } from '../../apimachinery/request-info.ts';
import { connectSubresources } from '../../apimachinery/subresources.ts';
import { type RequestKind, requestKindOf } from '../../proxy/request-gate.ts';
import type { Attempt, ByteCounter, RequestObserver, RequestRecord } from '../../request/inbound.ts';
import { ownPathsPrefix } from '../../request/own-path-target.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import type { MetricRegistry, RequestSource } from './catalogue.ts';
import type { DestinationSeriesIndex } from './connection-metrics.ts';
import { codeLabel, type HistogramSeries, type NumberSeries, otherLabel } from './metric-family.ts';

type RequestFamilies = MetricRegistry['requests'];

class RequestSeries implements ByteCounter {
  labels: RequestLabels;
  readonly isLongRunning: boolean;
  readonly inflight: NumberSeries;
  readonly #families: RequestFamilies;
  readonly #byCode = {
    client: new Map<number, NumberSeries>(),
    router: new Map<number, NumberSeries>(),
  } as const satisfies Record<RequestSource, unknown>;
  readonly #reroutedByCode = new Map<number, NumberSeries>();
  #duration: HistogramSeries | undefined;
  #responseBytes: NumberSeries | undefined;

  constructor(labels: RequestLabels, families: RequestFamilies) {
    this.labels = labels;
    this.isLongRunning = labels.kind === 'longRunning';
    this.inflight = families.inflightRequests.with(labels.kind);
    this.#families = families;
  }

  get duration(): HistogramSeries {
    this.#duration ??= this.#families.requestDuration.with(this.labels.verb, this.labels.scope);
    return this.#duration;
  }

  add(bytes: number): void {
    this.#responseBytes ??= this.#families.responseBytes.with(...resourceValues(this.labels));
    this.#responseBytes.add(bytes);
  }

  withCode(status: number, source: RequestSource): NumberSeries {
    const byCode = this.#byCode[source];
    let series = byCode.get(status);
    if (series === undefined) {
      series = this.#families.requests.with(...resourceValues(this.labels), codeLabel(status), source);
      byCode.set(status, series);
    }
    return series;
  }

  /**
   * Looks up its series anew from now on: those of what has gone are removed, and what had no room may have some.
   * @param isGone the snapshot does not know its resource any more: what still runs counts as `other`
   */
  renew(isGone: boolean): void {
    if (isGone) this.labels = { ...this.labels, ...unknownResource };
    for (const series of [this.#byCode.client, this.#byCode.router, this.#reroutedByCode]) series.clear();
    this.#responseBytes = undefined;
  }

  /** @param status 0: there was no response */
  rerouted(status: number): NumberSeries {
    let series = this.#reroutedByCode.get(status);
    if (series === undefined) {
      const { group, version, resource } = this.labels;
      const code = status === 0 ? '0' : codeLabel(status);
      series = this.#families.reroutedRequests.with(code, group, version, resource);
      this.#reroutedByCode.set(status, series);
    }
    return series;
  }
}

interface KnownRequests
  extends Readonly<Pick<RequestInfo, 'verb' | 'apiGroup' | 'apiVersion' | 'subresource'>> {
  readonly scope: string;
  readonly series: RequestSeries;
}

/** Finds the series of a request. Those of known resources are kept until the routing table changes. */
class RequestSeriesIndex {
  readonly refused: RequestSeries;
  readonly #families: RequestFamilies;
  readonly #currentTable: () => RoutingTable | undefined;
  #table: RoutingTable | undefined;
  /** By resource, a few for each. Comparing their fields costs less than making a key. */
  readonly #known = new Map<string, KnownRequests[]>();
  readonly #byLabels = new Map<string, RequestSeries>();

  constructor(families: RequestFamilies, currentTable: () => RoutingTable | undefined) {
    this.refused = new RequestSeries(labelsOfRefused, families);
    this.#families = families;
    this.#currentTable = currentTable;
  }

  of(requestInfo: RequestInfo): RequestSeries {
    const table = this.#currentTable();
    if (table !== this.#table) this.#useTable(table);
    const scope = scopeOf(requestInfo);
    const alike = this.#known.get(requestInfo.resource);
    for (const known of alike ?? []) {
      const isIt =
        known.verb === requestInfo.verb &&
        known.scope === scope &&
        known.apiGroup === requestInfo.apiGroup &&
        known.apiVersion === requestInfo.apiVersion &&
        known.subresource === requestInfo.subresource;
      if (isIt) return known.series;
    }
    const labels = requestLabels(requestInfo, table);
    const series = this.#ofLabels(labels);
    // Names that a client could invent are looked up each time, and not kept.
    const isKnown =
      labels.resource !== otherLabel && labels.subresource !== otherLabel && labels.verb !== otherLabel;
    if (isKnown && requestInfo.isResourceRequest) {
      const { verb, apiGroup, apiVersion, resource, subresource } = requestInfo;
      const known = { verb, scope, apiGroup, apiVersion, subresource, series };
      if (alike === undefined) this.#known.set(resource, [known]);
      else alike.push(known);
    }
    return series;
  }

  #useTable(table: RoutingTable | undefined): void {
    this.#known.clear();
    // A renewal has the same snapshot.
    const isNew = table?.snapshot !== this.#table?.snapshot;
    this.#table = table;
    if (!isNew || table === undefined) return;
    removeGone(this.#families, table);
    for (const [key, series] of this.#byLabels) {
      const isGone = !isKnownResource(series.labels, table);
      series.renew(isGone);
      // Requests that still run keep their series.
      if (isGone) this.#byLabels.delete(key);
    }
  }

  #ofLabels(labels: RequestLabels): RequestSeries {
    const key = Object.values(labels).join('\0');
    let series = this.#byLabels.get(key);
    if (series === undefined) {
      series = new RequestSeries(labels, this.#families);
      this.#byLabels.set(key, series);
    }
    return series;
  }
}

function resourceValues({ verb, group, version, resource, subresource, scope }: RequestLabels) {
  return [verb, group, version, resource, subresource, scope] as const;
}

/** Makes room: without the series of resources that the snapshot does not know any more. */
function removeGone(families: RequestFamilies, table: RoutingTable): void {
  for (const name of ['requests', 'responseBytes', 'reroutedRequests', 'peerProxyErrors'] as const) {
    const family = families[name];
    const labels: readonly string[] = family.definition.labels;
    const [group, version, resource] = ['group', 'version', 'resource'].map((label) => labels.indexOf(label));
    const valueAt = (values: readonly string[], index = -1): string => values[index] ?? '';
    family.remove(
      (...values) =>
        !isKnownResource(
          {
            group: valueAt(values, group),
            version: valueAt(values, version),
            resource: valueAt(values, resource),
          },
          table,
        ),
    );
  }
}

type ResourceLabels = Pick<RequestLabels, 'group' | 'version' | 'resource'>;

/** True if a request that is made now can have these labels: a resource of the snapshot, none, or an unknown one. */
function isKnownResource({ group, version, resource }: ResourceLabels, table: RoutingTable): boolean {
  if (version === '' || version === otherLabel) return true;
  if (table.resource(group, version, resource) !== undefined) return true;
  return resource === otherLabel && knowsGroupVersion(group, version, table);
}

interface RequestLabels {
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly scope: string;
  readonly kind: RequestKind;
}

/** kube-apiserver's `verb` label (k8s.io/apiserver pkg/endpoints/metrics, CanonicalVerb). */
const verbs: ReadonlyMap<string, string> = new Map([
  ['get', 'GET'],
  ['head', 'HEAD'],
  ['list', 'LIST'],
  ['watch', 'WATCH'],
  ['create', 'POST'],
  ['post', 'POST'],
  ['update', 'PUT'],
  ['put', 'PUT'],
  ['patch', 'PATCH'],
  ['delete', 'DELETE'],
  ['deletecollection', 'DELETECOLLECTION'],
  ['proxy', 'CONNECT'],
  ['connect', 'CONNECT'],
  ['options', 'OPTIONS'],
]);

/** Subresources of Kubernetes. The snapshot cannot bound them: for some resources it has none, and any is possible. */
const subresources: ReadonlySet<string> = new Set([
  'approval',
  'attach',
  'binding',
  'ephemeralcontainers',
  'eviction',
  'exec',
  'finalize',
  'log',
  'portforward',
  'proxy',
  'resize',
  'scale',
  'status',
  'token',
]);

/**
 * The labels of a request. Group, version and resource are only used if the snapshot has them: a client must not be able
 * to create series with names that do not exist. Pure.
 */
function requestLabels(requestInfo: RequestInfo, table: RoutingTable | undefined): RequestLabels {
  const { isResourceRequest, subresource } = requestInfo;
  const verb = connectSubresources.has(subresource) ? 'CONNECT' : (verbs.get(requestInfo.verb) ?? otherLabel);
  const kind = requestKindOf(requestInfo);
  if (!isResourceRequest) {
    return { verb, kind, ...namesNoResource, subresource: pathLabel(requestInfo.path) };
  }
  return {
    verb,
    kind,
    ...knownResource(requestInfo, table),
    subresource: subresource === '' || subresources.has(subresource) ? subresource : otherLabel,
    scope: scopeOf(requestInfo),
  };
}

const labelsOfRefused: RequestLabels = {
  verb: otherLabel,
  kind: 'readOnly',
  group: '',
  version: '',
  resource: '',
  subresource: '',
  scope: '',
};

/**
 * Where kube-apiserver has the path of a probe (k8s.io/apiserver pkg/server/healthz: its handlers are instrumented with it as
 * subresource), so that requests of clients can be told from it. The router's own paths go alike.
 */
function pathLabel(path: string): string {
  const [, probe] = /^(\/(?:livez|readyz|healthz))(?:\/|$)/.exec(path) ?? [];
  return probe ?? (path.startsWith(`${ownPathsPrefix}/`) ? ownPathsPrefix : '');
}

const namesNoResource = { group: '', version: '', resource: '', subresource: '', scope: '' };

function knownResource(
  { apiGroup, apiVersion, resource }: RequestInfo,
  table: RoutingTable | undefined,
): ResourceLabels {
  if (table?.resource(apiGroup, apiVersion, resource) !== undefined) {
    return { group: apiGroup, version: apiVersion, resource };
  }
  // For custom resources and extension APIs the snapshot may only have the group version.
  return knowsGroupVersion(apiGroup, apiVersion, table)
    ? { group: apiGroup, version: apiVersion, resource: otherLabel }
    : unknownResource;
}

const unknownResource: ResourceLabels = { group: otherLabel, version: otherLabel, resource: otherLabel };

function knowsGroupVersion(group: string, version: string, table: RoutingTable | undefined): boolean {
  return table?.isCustomResource(group, version) === true || table?.extension(group, version) !== undefined;
}

/** kube-apiserver's `scope` (CleanScope): whether a request names an object, a namespace, or neither. */
function scopeOf({ name, namespace }: RequestInfo): 'resource' | 'namespace' | 'cluster' {
  if (name !== '') return 'resource';
  return namespace === '' ? 'cluster' : 'namespace';
}

interface RequestMetricsOptions {
  readonly registry: MetricRegistry;
  readonly destinations: DestinationSeriesIndex;
  readonly currentTable: () => RoutingTable | undefined;
}

export class RequestMetrics implements RequestObserver {
  readonly #registry: MetricRegistry;
  readonly #destinations: DestinationSeriesIndex;
  readonly #series: RequestSeriesIndex;
  readonly #routing: HistogramSeries;
  readonly #decisions = new Map<string, Map<string, NumberSeries>>();

  constructor({ registry, destinations, currentTable }: RequestMetricsOptions) {
    this.#registry = registry;
    this.#destinations = destinations;
    this.#series = new RequestSeriesIndex(registry.requests, currentTable);
    this.#routing = registry.requests.routingDuration.with();
  }

  accepted(record: RequestRecord): void {
    const { requestInfo } = record;
    if (requestInfo === undefined) return;
    const series = this.#series.of(requestInfo);
    record.responseBytes = series;
    series.inflight.add(1);
    if (!requestInfo.isResourceRequest && requestInfo.path === '/apis') this.#countNoPeer(record);
  }

  attempted({ attempts, begunAt, requestInfo, decision }: RequestRecord, attempt: Attempt): void {
    const destination = this.#destinations.of(attempt.destination);
    const { failure, status, endedAt } = attempt;
    if (status !== undefined && endedAt !== undefined) {
      destination.responded(status, (endedAt - attempt.begunAt) / 1000);
    }
    const index = attempts.indexOf(attempt);
    // V8 looks for an element -1 as for a property of that name.
    const before = index > 0 ? attempts[index - 1] : undefined;
    if (before === undefined) this.#routing.observe((attempt.begunAt - begunAt) / 1000);
    else this.#registry.destinations.secondTries.with(before.failure ?? 'NotServed').add();
    if (failure === undefined) return;
    destination.failed(failure);
    const notBuilt = ['AssertionTooLarge', 'NotSendable', 'InternalError'].includes(failure);
    if (notBuilt && decision?.decision === 'peer') this.#countPeerProxyError('proxy_transport', requestInfo);
  }

  responded(record: RequestRecord): void {
    this.#countDecision(record);
    const { aggregatedDiscovery, inbound } = record;
    const { requests } = this.#registry;
    if (inbound.otherVersion !== undefined) {
      requests.otherVersionRequests.with(inbound.otherVersion.isOlder ? 'older' : 'newer').add();
    }
    if (aggregatedDiscovery === 'kept') requests.aggregatedDiscoveryHits.with().add();
    if (aggregatedDiscovery === 'merged') requests.aggregatedDiscoveryMisses.with().add();
  }

  finished(record: RequestRecord): void {
    const { status, dropped, decision, begunAt, finishedAt, responseBytes: series } = record;
    const { requests } = this.#registry;
    if (record.respondedAt === undefined) this.#countDecision(record);
    if (dropped !== undefined) requests.droppedRequests.with(dropped).add();
    if (!(series instanceof RequestSeries)) {
      this.#series.refused.withCode(status, 'client').add();
      return;
    }
    series.inflight.add(-1);
    if (decision?.decision === 'peer') series.rerouted(status).add();
    if (status === 0) return;
    series.withCode(status, decision?.reason === 'AlreadyRerouted' ? 'router' : 'client').add();
    if (!series.isLongRunning) series.duration.observe(((finishedAt ?? begunAt) - begunAt) / 1000);
  }

  /** Once for each request: with its response, which may last for hours, or without one at its end. */
  #countDecision({ decision, requestInfo }: RequestRecord): void {
    if (decision === undefined) return;
    const { decision: kind, reason } = decision;
    let byReason = this.#decisions.get(kind);
    if (byReason === undefined) {
      byReason = new Map();
      this.#decisions.set(kind, byReason);
    }
    let series = byReason.get(reason);
    if (series === undefined) {
      series = this.#registry.requests.decisions.with(kind, reason);
      byReason.set(reason, series);
    }
    series.add();
    if (reason === 'PeerAddressUnknown') this.#countPeerProxyError('endpoint_resolution', requestInfo);
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
