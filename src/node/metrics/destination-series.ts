import type { Destination } from '../../request/destination.ts';
import { type HistogramSeries, NumberSeries } from './metric-family.ts';
import type { MetricRegistry } from './metric-registry.ts';
import { codeLabel } from './request-series.ts';

type DestinationFamilies = MetricRegistry['destinations'];

/** The series of one destination, resolved once. */
export class DestinationSeries {
  readonly inflight: NumberSeries;
  readonly duration: HistogramSeries;
  readonly #destination: Destination;
  readonly #families: DestinationFamilies;
  readonly #byCode = new Map<number, NumberSeries>();
  #isExposed = true;

  constructor(destination: Destination, families: DestinationFamilies) {
    const { id, kind } = destination;
    this.#destination = destination;
    this.#families = families;
    this.inflight = families.destinationInflight.with(id, kind);
    this.duration = families.destinationDuration.with(id, kind);
  }

  /** The destination is gone: requests still in flight to it are not exposed. */
  retire(): void {
    this.#isExposed = false;
  }

  withCode(status: number): NumberSeries {
    if (!this.#isExposed) return new NumberSeries('');
    let series = this.#byCode.get(status);
    if (series === undefined) {
      const { id, kind } = this.#destination;
      series = this.#families.destinationRequests.with(id, kind, codeLabel(status));
      this.#byCode.set(status, series);
    }
    return series;
  }

  failed(error: string): void {
    if (!this.#isExposed) return;
    const { id, kind } = this.#destination;
    this.#families.destinationErrors.with(id, kind, error).add();
  }

  connected(seconds: number, protocol: string): NumberSeries {
    if (!this.#isExposed) return new NumberSeries('');
    const { id, kind } = this.#destination;
    this.#families.connectDuration.with(id, kind).observe(seconds);
    return this.#families.destinationConnections.with(id, kind, protocol);
  }

  connectFailed(cause: string): void {
    if (!this.#isExposed) return;
    const { id, kind } = this.#destination;
    this.#families.connectErrors.with(id, kind, cause).add();
  }
}

/** The series of all destinations. A destination that leaves the snapshot loses its series. */
export class DestinationSeriesIndex {
  readonly #families: DestinationFamilies;
  readonly #byKind = {
    local: new Map<string, DestinationSeries>(),
    peer: new Map<string, DestinationSeries>(),
    extension: new Map<string, DestinationSeries>(),
  };

  constructor(families: DestinationFamilies) {
    this.#families = families;
  }

  of(destination: Destination): DestinationSeries {
    const byId = this.#byKind[destination.kind];
    let series = byId.get(destination.id);
    if (series === undefined) {
      series = new DestinationSeries(destination, this.#families);
      byId.set(destination.id, series);
    }
    return series;
  }

  /** Removes all other destinations, with every series that one is a label of. */
  retain(destinations: readonly Destination[]): void {
    const kept = new Set(destinations.map(({ kind, id }) => `${kind} ${id}`));
    for (const [kind, byId] of Object.entries(this.#byKind)) {
      for (const [id, series] of byId) {
        if (kept.has(`${kind} ${id}`)) continue;
        series.retire();
        byId.delete(id);
      }
    }
    const ids = new Set(destinations.map(({ id }) => id));
    for (const family of Object.values(this.#families)) {
      const [first, second]: readonly string[] = family.definition.labels;
      if (first !== 'destination') continue;
      family.remove((id = '', kind = '') => !(second === 'kind' ? kept.has(`${kind} ${id}`) : ids.has(id)));
    }
  }
}
