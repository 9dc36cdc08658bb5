import type { Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { HeaderLines } from '../fields/header-lines.ts';
import type { RequestHead } from './request-head.ts';

/** Who writes an answer into its stream. */
export interface AnswerWriter {
  /** All that was written is on its way, and more is taken. */
  onRoom(): void;
  /** The stream is over, well or not. */
  onClosed(): void;
}

/** Who has to know when a request is over. */
export interface StreamFollower {
  /** The stream is over, well or not. Called once. */
  onClosed(): void;
}

/**
 * A request as it stood on the wire, and the way back for its answer: `incoming` of the bindings that a fetch handler is
 * given, for those who need more than the web `Request`. Who writes the answer here returns `RESPONSE_ALREADY_SENT`.
 */
export interface IncomingStream {
  /** Of the connection: for its addresses and its certificate. */
  readonly socket: TLSSocket;
  readonly head: RequestHead;
  /** Whether content follows the head. */
  readonly hasContent: boolean;
  /** The content, for one reader. Closed before its end when the client takes it back, or has its answer. */
  readonly content: Readable;
  /** Whether all of the content has come. */
  readonly isReceived: boolean;
  /** Of the answer whose head has been written. */
  readonly status: number | undefined;
  /** Whether content follows that head: none does for HEAD, nor behind 204, 205 and 304. */
  readonly takesContent: boolean;
  /** Whether the answer was handed to the connection to its end. */
  readonly isAnswered: boolean;
  /** Whether the exchange is over, well or not. */
  readonly isClosed: boolean;
  /** Told of room behind what was written. Whoever begins to write takes the place of the one before. */
  writer: AnswerWriter | undefined;
  /** Has `follower` told when the exchange is over; at once if it is. */
  follow(follower: StreamFollower): void;
  /** An answer in front of the answer (RFC 9110 section 15.2). @param status from 100 to 199 */
  respondInterim(status: number): void;
  /**
   * Writes the head of the answer: connection-specific lines are left out, and `date` is put in where there is none.
   * @param status from 200 on
   * @throws {TypeError} when the head cannot be written, or there has been one; nothing was written then.
   */
  respond(status: number, headers: HeaderLines): void;
  /**
   * Writes content, where the answer has any.
   * @param piece copied before it returns
   * @returns false when the client is slower: hold until the writer's `onRoom`. What still comes is taken nevertheless.
   * @throws {TypeError} when there is no head
   */
  write(piece: Uint8Array): boolean;
  /** Ends the answer behind all that was written. @throws {TypeError} when there is no head */
  end(): void;
  /** The answer broke off (RST_STREAM): the client must not take what it has for the whole. */
  breakOff(): void;
  /** Takes no new requests on the connection, says so (GOAWAY), and ends it behind those that are under way. */
  closeConnection(): void;
}
