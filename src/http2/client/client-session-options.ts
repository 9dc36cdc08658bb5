import type { Duplex, Readable } from 'node:stream';
import type { HeaderLines } from '../fields/header-lines.ts';
import type { ConnectionInbox } from '../sockets/connection-inbox.ts';

export interface ClientSessionEvents {
  /** The server's settings are here, or have changed. */
  onSettings(): void;
  /** The server takes no new streams (RFC 9113 section 6.8). */
  onGoAway(): void;
  /** On the wire a stream is over. @param code RFC 9113 section 7 */
  onStreamClosed(code: number): void;
  /** The server has read what waited for it. */
  onRoom(): void;
  /** @param failure why its last streams failed, if there were any */
  onClosed(failure: Error): void;
}

/** A socket of node:net or node:tls. */
export interface SessionSocket extends Duplex {
  destroySoon(): void;
}

export interface ClientSessionOptions {
  /** Dialled with `inbox.onread`, for nobody but this session. */
  readonly socket: SessionSocket;
  readonly inbox: ConnectionInbox;
  /** Host and port of the server. */
  readonly authority: string;
  /** Bytes that the server may send ahead on one stream. */
  readonly streamWindow: number;
  /** The same of all streams together. */
  readonly connectionWindow: number;
  /** Of the head of an answer. */
  readonly maximumHeaderLines: number;
  readonly maximumHeaderBytes: number;
  readonly events: ClientSessionEvents;
}

export interface ClientRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderLines;
  /** A whole short body, or one that is read as the server takes it; `undefined` for none. */
  readonly content: Uint8Array | Readable | undefined;
}
