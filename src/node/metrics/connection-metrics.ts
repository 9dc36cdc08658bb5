import type { TLSSocket } from 'node:tls';
import type { Relief } from '../../http2/sockets/held-bytes.ts';
import type { Destination, TransportError } from '../../request/destination.ts';
import { errorCode } from '../../runtime/errors.ts';
import type { DialObserver, ServerObserver } from '../exchange/connection-observer.ts';
import type { DestinationSeriesIndex } from './destination-series.ts';
import type { MetricRegistry } from './metric-registry.ts';

/** Counts connections of clients and connections to destinations. */
export class ConnectionMetrics implements ServerObserver, DialObserver {
  readonly #state: MetricRegistry['state'];
  readonly #destinations: DestinationSeriesIndex;

  constructor({ state }: MetricRegistry, destinations: DestinationSeriesIndex) {
    this.#state = state;
    this.#destinations = destinations;
  }

  secured(socket: TLSSocket): void {
    const protocol = protocolOf(socket);
    this.#state.tlsHandshakes.with(protocol).add();
    const open = this.#state.clientConnections.with(protocol);
    open.add(1);
    socket.once('close', () => open.add(-1));
  }

  handshakeFailed(error: Error): void {
    this.#state.tlsHandshakeErrors.with(tlsFailureCause(error)).add();
  }

  malformed(): void {
    this.#state.malformedRequests.with().add();
  }

  relieved(relief: Relief): void {
    this.#state.memoryReliefs.with(relief).add();
  }

  connected(destination: Destination, socket: TLSSocket, milliseconds: number): void {
    const open = this.#destinations.at(destination)?.connected(milliseconds / 1000, protocolOf(socket));
    if (open === undefined) return;
    open.add(1);
    socket.once('close', () => open.add(-1));
  }

  failed(destination: Destination, error: TransportError): void {
    // The cause of a TLS error has the details.
    const cause = error.code === 'TLSFailed' ? tlsFailureCause(error.cause) : error.code;
    this.#destinations.at(destination)?.connectFailed(cause);
  }
}

function protocolOf({ alpnProtocol }: TLSSocket): string {
  return alpnProtocol === 'h2' ? 'h2' : 'http/1.1';
}

/** Why a TLS handshake failed, in causes that an operator treats differently. */
export type TlsFailureCause =
  /** One side does not trust the authority of the other side's certificate. */
  | 'unknown_ca'
  /** Expired, or not valid yet. */
  | 'expired_cert'
  /** The certificate does not have the expected name. */
  | 'hostname_mismatch'
  /** The other side rejects our certificate, or requires one. */
  | 'client_certificate_refused'
  /** No TLS version, cipher or application protocol in common, or no TLS at all. */
  | 'protocol_mismatch'
  | 'timeout'
  /** The other side closed during the handshake, as a load balancer does when it checks the port. */
  | 'closed'
  | 'other';

/** Codes of Node and OpenSSL (X509_V_ERR_*, TLS alerts of RFC 8446 section 6.2). First match wins. */
const causes: readonly (readonly [codes: RegExp, cause: TlsFailureCause])[] = [
  [/SELF_SIGNED|UNABLE_TO_(GET_ISSUER|VERIFY_LEAF)|CERT_UNTRUSTED|ALERT_UNKNOWN_CA/, 'unknown_ca'],
  [/CERT_HAS_EXPIRED|CERT_NOT_YET_VALID|ALERT_CERTIFICATE_EXPIRED/, 'expired_cert'],
  [/CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH/, 'hostname_mismatch'],
  [/ALERT_(\w*CERTIFICATE|ACCESS_DENIED|DECRYPT_ERROR)/, 'client_certificate_refused'],
  [
    /UNSUPPORTED_PROTOCOL|WRONG_VERSION|NO_SHARED_CIPHER|NO_APPLICATION_PROTOCOL|HTTP_REQUEST|ALERT_PROTOCOL_VERSION|INAPPROPRIATE_FALLBACK|PACKET_LENGTH/,
    'protocol_mismatch',
  ],
  [/TIMEOUT|ETIMEDOUT/, 'timeout'],
  [/ECONNRESET|EPIPE|ECONNABORTED|UNEXPECTED_EOF/, 'closed'],
];

/** @param error of a socket or of its cause. Pure. */
export function tlsFailureCause(error: unknown): TlsFailureCause {
  const code = errorCode(error);
  for (const [codes, cause] of causes) if (codes.test(code)) return cause;
  return 'other';
}
