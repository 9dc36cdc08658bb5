import type { TLSSocket } from 'node:tls';
import type { BudgetShare } from '../sockets/held-bytes.ts';
import type { AddressResets } from './client-budgets.ts';
import type { ServerStream } from './server-stream.ts';

/** Limits of one client, and of all clients together. */
export interface Http2ServerLimits {
  /** Concurrent requests on one connection. Default 100, as in Go's servers since CVE-2023-44487. */
  readonly maxConcurrentStreams: number;
  /** Requests refused beyond it, as a burst (one a second is forgiven), before the connection ends. Default 100. */
  readonly maxSessionRejectedStreams: number;
  /** Flow-control window of one request at its begin, in bytes. Default 64 KiB. */
  readonly streamWindow: number;
  /** To which it grows while its content is taken and there is memory for it. Default 256 KiB. */
  readonly maximumStreamWindow: number;
  /** Header lines of one request. Default 4,096. */
  readonly maximumHeaderLines: number;
  /**
   * Bytes of the header lines of one request, with 32 more for each line (RFC 9113 section 6.5.2). Default 1 MiB, as in
   * Go's servers.
   */
  readonly maximumHeaderBytes: number;
  /** Milliseconds from the first byte of a head or a frame to its last. Default 10,000. */
  readonly headerBlockTimeout: number;
  /** Milliseconds that an idle connection is kept, or up to a quarter more. Default 90,000. */
  readonly keepAliveTimeout: number;
}

export const defaultHttp2ServerLimits: Http2ServerLimits = {
  maxConcurrentStreams: 100,
  maxSessionRejectedStreams: 100,
  streamWindow: 64 * 1024,
  maximumStreamWindow: 256 * 1024,
  maximumHeaderLines: 4_096,
  maximumHeaderBytes: 1024 * 1024,
  headerBlockTimeout: 10_000,
  keepAliveTimeout: 90_000,
};

/** What the connections of one server share. */
export interface ServerSessionHost {
  readonly limits: Pick<
    Http2ServerLimits,
    | 'maxConcurrentStreams'
    | 'maxSessionRejectedStreams'
    | 'maximumHeaderLines'
    | 'maximumHeaderBytes'
    | 'streamWindow'
    | 'maximumStreamWindow'
    | 'headerBlockTimeout'
    | 'keepAliveTimeout'
  >;
  readonly addresses: AddressResets;
  /** Whether the client presented a certificate that was verified. */
  isVerified(socket: TLSSocket): boolean;
  /** Counts what is held for this client. */
  shareOf(isVerified: boolean): BudgetShare;
  /** A request was received whose head is too large; only its method is known. */
  headTooLarge(stream: ServerStream): void;
  requested(stream: ServerStream): void;
  /** An error of ours: only this connection ends. */
  failed(error: unknown): void;
}
