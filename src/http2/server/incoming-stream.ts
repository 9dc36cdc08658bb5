import type { Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { HeaderLines } from '../fields/header-fields.ts';
import type { HeldBytes } from '../sockets/held-bytes.ts';
import type { RequestHead } from './request-head.ts';

/** Is told of the progress of a response that it writes. */
export interface ResponseWriter {
  /** Everything was sent: more can be written. */
  onRoom(): void;
  /** The stream is closed, complete or not. */
  onClosed(): void;
}

/** Is told of the progress of a stream. */
export interface StreamFollower {
  /** The head of the response was written; that of the request has only what is still needed. */
  onResponded?(): void;
  /** The stream is closed, complete or not. Called once. */
  onClosed(): void;
}

/**
 * A request as it was received, and a stream for its response: `incoming` of a fetch handler's bindings, for handlers
 * that need more than the web `Request`. A handler that writes its response here returns `RESPONSE_ALREADY_SENT`.
 */
export interface IncomingStream {
  /** The connection, for its addresses and its certificate. */
  readonly socket: TLSSocket;
  /** Once the response has begun it has no header lines but `User-Agent`. */
  readonly head: RequestHead;
  /** Counts what a handler holds for this request elsewhere. Beyond the budget the stream is reset. */
  readonly held: HeldBytes;
  /** Whether content follows the head. */
  readonly hasContent: boolean;
  /** The content, for one reader. Destroyed early when the client resets the stream or has its response. */
  readonly content: Readable;
  /** Whether all of the content was received. */
  readonly isReceived: boolean;
  /** The status of the response, once its head was written. */
  readonly status: number | undefined;
  /** Whether the response has content: not for HEAD, 204, 205 and 304. */
  readonly takesContent: boolean;
  /** Whether the whole response was written to the connection. */
  readonly isResponseSent: boolean;
  /** Whether the stream is closed, complete or not. */
  readonly isClosed: boolean;
  /** Is told when more can be written. A new writer replaces the one before. */
  writer: ResponseWriter | undefined;
  /** Calls `follower` when the stream is closed; at once if it is. */
  follow(follower: StreamFollower): void;
  /** Sends an interim response (RFC 9110 section 15.2). @param status from 100 to 199 */
  respondInterim(status: number): void;
  /**
   * Writes the head of the response, without connection-specific lines and with a `date`.
   * @param status 200 or more
   * @throws {TypeError} if the head is invalid or was written before; nothing was written then.
   */
  respond(status: number, headers: HeaderLines): void;
  /**
   * Writes content, if the response has any.
   * @param piece copied before it returns
   * @returns false when the client is slower: wait for the writer's `onRoom`. More that is written is kept nevertheless.
   * @throws {TypeError} before the head
   */
  write(piece: Uint8Array): boolean;
  /** Ends the response. @throws {TypeError} before the head */
  end(): void;
  /** Resets the stream (RST_STREAM): the client must not take a part for the whole response. */
  breakOff(): void;
  /** Sends GOAWAY, and closes the connection after the requests in flight. */
  closeConnection(): void;
}
