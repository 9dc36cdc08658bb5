import type { RequestInfo } from '../../apimachinery/request-info.ts';
import { type RequestKind, requestKindOf } from '../../proxy/request-gate.ts';
import type { ByteCounter } from '../../request/request-record.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import { type HistogramSeries, type NumberSeries, otherLabel } from './metric-family.ts';
import type { MetricRegistry } from './metric-registry.ts';

type RequestFamilies = MetricRegistry['requests'];

/** The series for requests with the same labels, looked up once. */
export class RequestSeries implements ByteCounter {
  readonly labels: RequestLabels;
  readonly isLongRunning: boolean;
  readonly inflight: NumberSeries;
  readonly #families: RequestFamilies;
  readonly #byCode = new Map<number, NumberSeries>();
  readonly #reroutedByCode = new Map<number, NumberSeries>();
  #duration: HistogramSeries | undefined;
  #longRunning: NumberSeries | undefined;
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

  get longRunning(): NumberSeries {
    this.#longRunning ??= this.#families.longRunningRequests.with(...resourceValues(this.labels));
    return this.#longRunning;
  }

  /** Counts bytes of responses. */
  add(bytes: number): void {
    this.#responseBytes ??= this.#families.responseBytes.with(...resourceValues(this.labels));
    this.#responseBytes.add(bytes);
  }

  withCode(status: number): NumberSeries {
    let series = this.#byCode.get(status);
    if (series === undefined) {
      series = this.#families.requests.with(...resourceValues(this.labels), codeLabel(status));
      this.#byCode.set(status, series);
    }
    return series;
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

/** Requests for one resource with the same series. */
interface KnownRequests
  extends Readonly<Pick<RequestInfo, 'verb' | 'apiGroup' | 'apiVersion' | 'subresource'>> {
  readonly scope: string;
  readonly series: RequestSeries;
}

/** Finds the series of a request. Those of known resources are kept until the routing table changes. */
export class RequestSeriesIndex {
  /** For requests whose target was refused. */
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
    if (table !== this.#table) {
      this.#table = table;
      this.#known.clear();
    }
    const scope = scopeOf(requestInfo);
    const alike = this.#known.get(requestInfo.resource);
    if (alike !== undefined) {
      for (const known of alike) if (areAlike(known, requestInfo, scope)) return known.series;
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

function areAlike(known: KnownRequests, requestInfo: RequestInfo, scope: string): boolean {
  return (
    known.verb === requestInfo.verb &&
    known.scope === scope &&
    known.apiGroup === requestInfo.apiGroup &&
    known.apiVersion === requestInfo.apiVersion &&
    known.subresource === requestInfo.subresource
  );
}

/** The values of the first labels of all families for resource requests, in order. */
function resourceValues({ verb, group, version, resource, subresource, scope }: RequestLabels) {
  return [verb, group, version, resource, subresource, scope] as const;
}

/** Label values of one request, each from a bounded set. */
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

const connecting: ReadonlySet<string> = new Set(['attach', 'exec', 'portforward', 'proxy']);

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
  const verb = connecting.has(subresource) ? 'CONNECT' : (verbs.get(requestInfo.verb) ?? otherLabel);
  const kind = requestKindOf(requestInfo);
  if (!isResourceRequest) return { verb, kind, ...namesNoResource };
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

const namesNoResource = { group: '', version: '', resource: '', subresource: '', scope: '' };

function knownResource(
  { apiGroup, apiVersion, resource }: RequestInfo,
  table: RoutingTable | undefined,
): Pick<RequestLabels, 'group' | 'version' | 'resource'> {
  if (table?.resource(apiGroup, apiVersion, resource) !== undefined) {
    return { group: apiGroup, version: apiVersion, resource };
  }
  // For custom resources and extension APIs the snapshot may only have the group version.
  const knowsGroup =
    table?.isCustomResource(apiGroup, apiVersion) === true ||
    table?.extension(apiGroup, apiVersion) !== undefined;
  return knowsGroup
    ? { group: apiGroup, version: apiVersion, resource: otherLabel }
    : { group: otherLabel, version: otherLabel, resource: otherLabel };
}

/** kube-apiserver's `scope` (CleanScope): whether a request names an object, a namespace, or neither. */
function scopeOf({ name, namespace }: RequestInfo): 'resource' | 'namespace' | 'cluster' {
  if (name !== '') return 'resource';
  return namespace === '' ? 'cluster' : 'namespace';
}

const codes = new Map(Array.from({ length: 500 }, (_, index) => [index + 100, String(index + 100)]));

/** A status code as a label; `other` for an invalid status. */
export function codeLabel(status: number): string {
  return codes.get(status) ?? otherLabel;
}
