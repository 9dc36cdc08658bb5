import type { TLSSocket } from 'node:tls';
import type { Destination, TransportError } from '../../request/transport.ts';

/** Told of connections of clients, for metrics. Must not throw. */
export interface ServerObserver {
  /** A client's handshake is finished; the connection is open until the socket's `close`. */
  secured(socket: TLSSocket): void;
  /** A client's handshake failed. */
  handshakeFailed(error: Error): void;
  /** What came on an HTTP/1.1 connection is no valid HTTP, or could be read in two ways: no request was made of it. */
  malformed(): void;
}

/** Told of connections to destinations, for metrics. Must not throw. */
export interface DialObserver {
  /** @param milliseconds for name, TCP and TLS. The connection is open until the socket's `close`. */
  connected(destination: Destination, socket: TLSSocket, milliseconds: number): void;
  failed(destination: Destination, error: TransportError): void;
}
