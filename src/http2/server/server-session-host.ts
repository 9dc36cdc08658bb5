import type { TLSSocket } from 'node:tls';
import type { AddressConduct } from './address-conduct.ts';
import type { Http2ServerLimits } from './server-limits.ts';
import type { ServerSession } from './server-session.ts';
import type { ServerStream } from './server-stream.ts';
import type { UnfinishedHeads } from './unfinished-heads.ts';

/** What the connections of one server have in common. */
export interface ServerSessionHost {
  readonly limits: Pick<
    Http2ServerLimits,
    'maxConcurrentStreams' | 'maxSessionRejectedStreams' | 'maximumHeaderLines' | 'streamWindow'
  >;
  /** What clients have done by their addresses. */
  readonly addresses: AddressConduct;
  /** Whether the client has shown a certificate that was verified. */
  isVerified(socket: TLSSocket): boolean;
  /** Bytes of the head of a request. */
  maximumHeaderBytes(isVerified: boolean): number;
  /** What is held of heads that are not whole, of all clients that are verified, or are not. */
  unfinishedHeads(isVerified: boolean): UnfinishedHeads;
  /** A request has come whose head is too large; of the head there is its method alone. */
  headTooLarge(session: ServerSession, stream: ServerStream): void;
  /** A request has come. */
  requested(session: ServerSession, stream: ServerStream): void;
  /** Something of ours has failed: the connection ends, and nothing else. */
  failed(error: unknown): void;
  /** The connection is over. */
  closed(session: ServerSession): void;
}
