import type { TLSSocket } from 'node:tls';
import type { AddressResets } from './address-resets.ts';
import type { Http2ServerLimits } from './server-limits.ts';
import type { ServerStream } from './server-stream.ts';
import type { UnfinishedHeads } from './unfinished-heads.ts';

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
  /** A request was received. */
  requested(stream: ServerStream): void;
  /** An error of ours: only this connection ends. */
  failed(error: unknown): void;
}
