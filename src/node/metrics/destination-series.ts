import type { Destination } from '../../request/destination.ts';
import { leadsTo } from '../destinations/destination-dispatchers.ts';
import { type HistogramSeries, NumberSeries } from './metric-family.ts';
import type { MetricRegistry } from './metric-registry.ts';
import { codeLabel } from './request-series.ts';

type DestinationFamilies = MetricRegistry['destinations'];

/** The series of one destination, resolved once. */
class DestinationSeries {
  readonly #id: string;
  readonly #kind: Destination['kind'];
  readonly #families: DestinationFamilies;
  readonly #byCode = new Map<number, NumberSeries>();
  #duration: HistogramSeries | undefined;
  #isExposed = true;

  constructor({ id, kind }: Destination, families: DestinationFamilies) {
    this.#id = id;
    this.#kind = kind;
    this.#families = families;
  }

  /** The destination is gone: requests still in flight to it are not exposed. */
  retire(): void {
    this.#isExposed = false;
  }

  responded(status: number, seconds: number): void {
    if (!this.#isExposed) return;
    this.#duration ??= this.#families.destinationDuration.with(this.#id, this.#kind);
    this.#duration.observe(seconds);
    let series = this.#byCode.get(status);
    if (series === undefined) {
      series = this.#families.destinationRequests.with(this.#id, this.#kind, codeLabel(status));
      this.#byCode.set(status, series);
    }
    series.add();
  }

  failed(error: string): void {
    if (!this.#isExposed) return;
    this.#families.destinationErrors.with(this.#id, this.#kind, error).add();
  }

  connected(seconds: number, protocol: string): NumberSeries {
    if (!this.#isExposed) return new NumberSeries('');
    this.#families.connectDuration.with(this.#id, this.#kind).observe(seconds);
    return this.#families.destinationConnections.with(this.#id, this.#kind, protocol);
  }

  connectFailed(cause: string): void {
    if (!this.#isExposed) return;
    this.#families.connectErrors.with(this.#id, this.#kind, cause).add();
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
  /** `undefined` before there is a table. */
  #retained: readonly Destination[] | undefined;

  constructor(families: DestinationFamilies) {
    this.#families = families;
  }

  of(destination: Destination): DestinationSeries {
    const byId = this.#byKind[destination.kind];
    let series = byId.get(destination.id);
    if (series === undefined) {
      series = new DestinationSeries(destination, this.#families);
      // An attempt that ends after its server has left.
      const { id, kind } = destination;
      if (this.#retained?.some((kept) => kept.id === id && kept.kind === kind) === false) series.retire();
      else byId.set(id, series);
    }
    return series;
  }

  /** Tells how many requests are in flight at each, by ID. */
  tellInFlight(inFlight: (id: string) => number): void {
    for (const { id, kind } of this.#retained ?? []) {
      this.#families.destinationInflight.with(id, kind).set(inFlight(id));
    }
  }

  /**
   * Of a connection: those of the destination that it leads to now. Connections are shared by all that is sent there and
   * kept when a server gets another ID, so the one that it was opened for may be another. `undefined` where it leads to
   * none, as when a router is asked for its status.
   */
  at(destination: Destination): DestinationSeries | undefined {
    // Known before there is any table.
    if (destination.kind === 'local') return this.of(destination);
    const found = this.#retained?.find(
      (each) => each.kind === destination.kind && leadsTo(each, destination),
    );
    return found && this.of(found);
  }

  /** Removes all other destinations, with every series that one is a label of. */
  retain(destinations: readonly Destination[]): void {
    this.#retained = destinations;
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
