import type { LoadKind } from '../../proxy/server-choice.ts';
import { type Destination, leadsTo, type TransportError } from '../../request/destination.ts';
import { errorCode } from '../../runtime/errors.ts';
import type { MetricRegistry } from './catalogue.ts';
import { codeLabel, type HistogramSeries, type NumberSeries } from './metric-family.ts';

type DestinationFamilies = MetricRegistry['destinations'];

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

  connectFailed({ code, cause: details }: TransportError): void {
    if (!this.#isExposed) return;
    const cause = code === 'TLSFailed' ? tlsFailureCause(details) : code;
    this.#families.connectErrors.with(this.#id, this.#kind, cause).add();
  }
}

export class DestinationSeriesIndex {
  readonly #families: DestinationFamilies;
  readonly #byKind = {
    local: new Map<string, DestinationSeries>(),
    peer: new Map<string, DestinationSeries>(),
  };
  #retained: readonly Destination[] | undefined;

  constructor(families: DestinationFamilies) {
    this.#families = families;
  }

  of(destination: Destination): DestinationSeries {
    const byId = this.#byKind[destination.kind];
    let series = byId.get(destination.id);
    if (series === undefined) {
      series = new DestinationSeries(destination, this.#families);
      const { id, kind } = destination;
      if (this.#retained?.some((kept) => kept.id === id && kept.kind === kind) === false) series.retire();
      else byId.set(id, series);
    }
    return series;
  }

  tellInFlight(inFlight: (id: string, kind: LoadKind) => number): void {
    for (const { id, kind } of this.#retained ?? []) {
      for (const each of ['short', 'longRunning'] as const) {
        this.#families.destinationInflight.with(id, kind, each).set(inFlight(id, each));
      }
    }
  }

  /**
   * Series of a connection: those of the destination that the connection leads to now. Connections are shared by all
   * that is sent there and kept when a server gets another ID, so the one that a connection was opened for may be
   * another. `undefined` where the connection leads to none, as when a router is asked for its status.
   */
  at(destination: Destination): DestinationSeries | undefined {
    // Known before there is any table.
    if (destination.kind === 'local') return this.of(destination);
    const found = this.#retained?.find(
      (each) => each.kind === destination.kind && leadsTo(each, destination),
    );
    return found && this.of(found);
  }

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

/** Codes of Node and OpenSSL (X509_V_ERR_*, TLS alerts of RFC 8446 section 6.2). First match wins. */
const causes: readonly (readonly [codes: RegExp, cause: string])[] = [
  [/SELF_SIGNED|UNABLE_TO_(GET_ISSUER|VERIFY_LEAF)|CERT_UNTRUSTED|ALERT_UNKNOWN_CA/, 'unknown_ca'],
  [/CERT_HAS_EXPIRED|CERT_NOT_YET_VALID|ALERT_CERTIFICATE_EXPIRED/, 'expired_cert'],
  [/CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH/, 'hostname_mismatch'],
  [/ALERT_(\w*CERTIFICATE|ACCESS_DENIED|DECRYPT_ERROR)/, 'client_certificate_refused'],
  [
    /UNSUPPORTED_PROTOCOL|WRONG_VERSION|NO_SHARED_CIPHER|NO_APPLICATION_PROTOCOL|HTTP_REQUEST|ALERT_PROTOCOL_VERSION|INAPPROPRIATE_FALLBACK|PACKET_LENGTH/,
    'protocol_mismatch',
  ],
  [/TIMEOUT|ETIMEDOUT/, 'timeout'],
  // A client closed the connection: as a load balancer does that checks the port.
  [/ECONNRESET|EPIPE|ECONNABORTED|UNEXPECTED_EOF/, 'closed'],
];

export function tlsFailureCause(error: unknown): string {
  const code = errorCode(error);
  for (const [codes, cause] of causes) if (codes.test(code)) return cause;
  return 'other';
}
