import type { RawHeaders } from '../../../src/apimachinery/raw-headers.ts';
import type { ByteReader } from './byte-reader.ts';

/** A request as a client sends it. */
export interface ClientRequest {
  /** Default GET. */
  readonly method?: string;
  /** Path and query, sent as they stand wherever the client can. */
  readonly target: string;
  /** name, value, name, value. */
  readonly headers?: RawHeaders;
  /** The whole body, sent with its length. */
  readonly body?: string;
  /** The case writes the body piece by piece (`Exchange.write`), without a length. */
  readonly streamed?: boolean;
  /** Client certificate that the connection carries. Default: what the runtime's clients need, if anything. */
  readonly certificate?: ClientCertificate;
}

/** Users with a certificate: `alice` in the group `dev`, `admin` in `system:masters`. */
export type ClientCertificate = 'alice' | 'admin';

/** The head of a response with its body, which may still be under way. */
export interface StreamedAnswer {
  readonly status: number;
  readonly headers: RawHeaders;
  readonly body: ByteReader;
}

/** One request on its way, and its answer. */
export interface Exchange {
  /** Rejects when the connection ends before the head of a response. */
  readonly answer: Promise<StreamedAnswer>;
  /** Codes of interim answers (1xx) so far; empty where the client does not show them. */
  readonly interim: readonly number[];
  write(bytes: string): void;
  end(): void;
  /** The client goes away: its connection, or its stream, ends at once. */
  disconnect(): void;
}

/** Bytes written by hand on a connection of its own, and all that came back. */
export interface RawConnection {
  readonly received: ByteReader;
  write(bytes: string): void;
  close(): void;
}

/** How requests reach a router. */
export interface WireClient {
  send(request: ClientRequest): Exchange;
  /** A connection for HTTP/1.1 by hand; left out where there is none. */
  connect?(): Promise<RawConnection>;
  close(): Promise<void>;
}
