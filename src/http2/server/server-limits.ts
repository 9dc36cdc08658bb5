import type { TLSSocket } from 'node:tls';
import type { AddressResets } from './client-budgets.ts';
import type { ServerStream } from './server-stream.ts';
import type { UnfinishedHeads } from './unfinished-heads.ts';

/** Limits of one client, and of all clients together. */
export interface Http2ServerLimits {
  /** Concurrent requests on one connection. Default 100, as in Go's servers since CVE-2023-44487. */
  readonly maxConcurrentStreams: number;
  /** Requests refused beyond it, as a burst (one a second is forgiven), before the connection ends. Default 100. */
  readonly maxSessionRejectedStreams: number;
  /** Flow-control window of one request, in bytes. Default 256 KiB. */
  readonly streamWindow: number;
  /** Header lines of one request. Default 4,096. */
  readonly maximumHeaderLines: number;
  /** Bytes of the header lines of one request, with 32 more for each line (RFC 9113 section 6.5.2). Default 64 KiB. */
  readonly maximumHeaderBytes: number;
  /** The same for clients with a verified certificate. Default 1 MiB, as in Go's servers. */
  readonly maximumVerifiedHeaderBytes: number;
  /** Milliseconds from the first byte of a head or a frame to its last. Default 10,000. */
  readonly headerBlockTimeout: number;
  /**
   * Bytes of unfinished heads on all connections of verified clients together, and as many on all other connections.
   * Default 32 MiB.
   */
  readonly maximumUnfinishedHeads: number;
  /** Milliseconds that an idle connection is kept, or up to a quarter more. Default 90,000. */
  readonly keepAliveTimeout: number;
}

export const defaultHttp2ServerLimits: Http2ServerLimits = {
  maxConcurrentStreams: 100,
  maxSessionRejectedStreams: 100,
  streamWindow: 256 * 1024,
  maximumHeaderLines: 4_096,
  maximumHeaderBytes: 64 * 1024,
  maximumVerifiedHeaderBytes: 1024 * 1024,
  headerBlockTimeout: 10_000,
  maximumUnfinishedHeads: 32 * 1024 * 1024,
  keepAliveTimeout: 90_000,
};

/** What the connections of one server share. */
export interface ServerSessionHost {
  readonly limits: Pick<
    Http2ServerLimits,
    'maxConcurrentStreams' | 'maxSessionRejectedStreams' | 'maximumHeaderLines' | 'streamWindow'
  >;
  readonly addresses: AddressResets;
  /** Whether the client presented a certificate that was verified. */
  isVerified(socket: TLSSocket): boolean;
  /** The limit for the head of a request, in bytes. */
  maximumHeaderBytes(isVerified: boolean): number;
  /** The unfinished heads of all verified clients, or of all others. */
  unfinishedHeads(isVerified: boolean): UnfinishedHeads;
  /** A request was received whose head is too large; only its method is known. */
  headTooLarge(stream: ServerStream): void;
  requested(stream: ServerStream): void;
  /** An error of ours: only this connection ends. */
  failed(error: unknown): void;
}
