import type { RequestInfo } from '../../apimachinery/request-info.ts';
import type { RoutingTable } from '../../snapshot/routing-table.ts';
import { type HistogramSeries, type NumberSeries, otherLabel } from './metric-family.ts';
import type { MetricRegistry } from './metric-registry.ts';
import { codeLabel, labelsOfRefused, type RequestLabels, requestLabels } from './request-labels.ts';

type RequestFamilies = MetricRegistry['requests'];

/** The series that requests of one kind count in, resolved once. */
export class RequestSeries {
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
    this.#duration ??= this.#families.requestDuration.with(...resourceValues(this.labels));
    return this.#duration;
  }

  get longRunning(): NumberSeries {
    this.#longRunning ??= this.#families.longRunningRequests.with(...resourceValues(this.labels));
    return this.#longRunning;
  }

  get responseBytes(): NumberSeries {
    this.#responseBytes ??= this.#families.responseBytes.with(...resourceValues(this.labels));
    return this.#responseBytes;
  }

  answered(status: number): NumberSeries {
    let series = this.#byCode.get(status);
    if (series === undefined) {
      series = this.#families.requests.with(...resourceValues(this.labels), codeLabel(status));
      this.#byCode.set(status, series);
    }
    return series;
  }

  /** @param status 0: there was no answer. */
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

/** Finds the series of a request. Those of known resources are kept, by what they ask for, until the table changes. */
export class RequestSeriesIndex {
  /** Of requests whose target was refused: what they ask for is not known. */
  readonly refused: RequestSeries;
  readonly #families: RequestFamilies;
  readonly #currentTable: () => RoutingTable | undefined;
  #table: RoutingTable | undefined;
  readonly #byRequest = new Map<string, RequestSeries>();
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
      this.#byRequest.clear();
    }
    const { verb, apiGroup, apiVersion, resource, subresource, namespace, name } = requestInfo;
    const scope = name !== '' ? 'n' : namespace !== '' ? 's' : 'c';
    const key = `${verb} ${scope} ${apiGroup}/${apiVersion}/${resource}/${subresource}`;
    const known = this.#byRequest.get(key);
    if (known !== undefined) return known;
    const labels = requestLabels(requestInfo, table);
    const series = this.#ofLabels(labels);
    // What a client can make up is looked up each time, and never kept.
    const isKnown =
      labels.resource !== otherLabel && labels.subresource !== otherLabel && labels.verb !== otherLabel;
    if (isKnown && requestInfo.isResourceRequest) this.#byRequest.set(key, series);
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

/** Of the labels that every family of requests for resources begins with, in their order. */
function resourceValues({ verb, group, version, resource, subresource, scope }: RequestLabels) {
  return [verb, group, version, resource, subresource, scope] as const;
}
