import type { TLSSocket } from 'node:tls';
import type { Relief } from '../../http2/sockets/held-bytes.ts';
import type { Destination, TransportError } from '../../request/destination.ts';

/** Is told of connections of clients, for metrics. Must not throw. */
export interface ServerObserver {
  /** A client's handshake succeeded; the connection is open until the socket's `close`. */
  secured(socket: TLSSocket): void;
  handshakeFailed(error: Error): void;
  /** A client sent invalid or ambiguous HTTP/1.1, which was refused. */
  malformed(): void;
  /** Too many bytes are held for others: a request was refused, or what waits was ended. */
  relieved(relief: Relief): void;
}

/** Is told of connections to destinations, for metrics. Must not throw. */
export interface DialObserver {
  /** @param milliseconds for name resolution, TCP and TLS. The connection is open until the socket's `close`. */
  connected(destination: Destination, socket: TLSSocket, milliseconds: number): void;
  failed(destination: Destination, error: TransportError): void;
}
