import type { TLSSocket } from 'node:tls';
import type { Destination } from '../../request/destination.ts';
import type { TransportError } from '../../request/transport-error.ts';
import type { DialObserver, ServerObserver } from '../exchange/connection-observer.ts';
import type { DestinationSeriesIndex } from './destination-series.ts';
import type { MetricRegistry } from './metric-registry.ts';
import { tlsFailureCause } from './tls-failure-cause.ts';

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

  connected(destination: Destination, socket: TLSSocket, milliseconds: number): void {
    const open = this.#destinations.of(destination).connected(milliseconds / 1000, protocolOf(socket));
    open.add(1);
    socket.once('close', () => open.add(-1));
  }

  failed(destination: Destination, error: TransportError): void {
    // The cause of a TLS error has the details.
    const cause = error.code === 'TLSFailed' ? tlsFailureCause(error.cause) : error.code;
    this.#destinations.of(destination).connectFailed(cause);
  }
}

function protocolOf({ alpnProtocol }: TLSSocket): string {
  return alpnProtocol === 'h2' ? 'h2' : 'http/1.1';
}
