import type { TLSSocket } from 'node:tls';
import type { ConnectionInbox } from '../http2/sockets/connection-inbox.ts';
import { maximumAnswerHeaderBytes, maximumAnswerLines } from './answer-limits.ts';
import { ChunkedBody } from './chunked-body.ts';
import type { AnswerSource, Exchange } from './exchange.ts';
import { headText } from './http1-head-text.ts';
import { type BodyLength, invalidResponse, parseHttp1ResponseHead } from './http1-response-head.ts';

export interface Http1ReadConnectionEvents {
  /** It can take another request. */
  onIdle(connection: Http1ReadConnection): void;
  onClosed(connection: Http1ReadConnection): void;
}

/** A bodiless read, ready to be written. */
export interface Http1Read {
  /** From `http1RequestHead`. */
  readonly head: string;
  readonly method: string;
  readonly exchange: Exchange;
  /** The connection ended before a byte of the answer came: a read may be sent again (RFC 9110 section 9.2.2). */
  readonly onUnanswered: () => void;
}

/**
 * One keep-alive HTTP/1.1 connection that carries bodiless reads, one at a time, with heads written and read here.
 *
 * Whatever is not plainly right on it ends the connection, so that no answer can be taken for the answer to another
 * request: bytes that nobody asked for, a faulty head, a body given up half-way.
 */
export class Http1ReadConnection {
  readonly #socket: TLSSocket;
  readonly #events: Http1ReadConnectionEvents;
  #read: Http1Read | undefined;
  /** Holds what has come of a head that is not whole, and room for more. */
  #partialHead: Buffer | undefined;
  /** Bytes of it. */
  #partialLength = 0;
  /** Of the heads of one answer, interim ones included. */
  #headBytes = 0;
  #headLines = 0;
  /** Lines of the last final head. */
  #lastHeaders: readonly string[] = [];
  /** Undefined up to the final head. */
  #bodyLength: BodyLength | undefined;
  #left = 0;
  #chunked: ChunkedBody | undefined;
  #persistent = true;

  /** @param socket dialled with `inbox.onread`, for nobody but this connection. */
  constructor(socket: TLSSocket, inbox: ConnectionInbox, events: Http1ReadConnectionEvents) {
    this.#socket = socket;
    this.#events = events;
    inbox.take((bytes) => this.#received(bytes));
    socket.on('end', () => this.#ended());
    socket.on('close', () => {
      this.#broken(new Error('the connection was closed'));
      events.onClosed(this);
    });
  }

  /** @param read only while the connection is idle. */
  send(read: Http1Read): void {
    this.#read = read;
    this.#bodyLength = undefined;
    this.#headBytes = 0;
    this.#headLines = 0;
    read.exchange.started(this.#sourceFor(read));
    this.#socket.write(read.head, 'latin1');
  }

  /** Lets the answer in progress end, then closes. */
  close(): void {
    this.#persistent = false;
    if (this.#read === undefined) this.#socket.destroy();
  }

  /** Ends everything at once. */
  destroy(): void {
    this.#socket.destroy();
  }

  #sourceFor(read: Http1Read): AnswerSource {
    // An exchange may give up its source after its answer has ended, when the connection is another's already.
    const isCurrent = (): boolean => this.#read === read;
    return {
      pause: () => {
        if (isCurrent()) this.#socket.pause();
      },
      resume: () => {
        if (isCurrent()) this.#socket.resume();
      },
      abort: () => {
        if (isCurrent()) this.#giveUp();
      },
    };
  }

  /** What is left of the answer can only be got rid of with the connection. */
  #giveUp(): void {
    this.#read = undefined;
    this.#socket.destroy();
  }

  /** @param chunk overwritten afterwards: what is kept is copied, what is handed on is lent. */
  #received(chunk: Buffer): void {
    let rest = chunk;
    try {
      while (rest.length > 0) {
        const read = this.#read;
        if (read === undefined) {
          // Nobody has asked: an answer that came in time for the next request would be taken for its own.
          this.#socket.destroy();
          return;
        }
        rest = this.#bodyLength === undefined ? this.#takeHead(read, rest) : this.#takeBody(read, rest);
      }
    } catch (error) {
      const read = this.#read;
      this.#giveUp();
      read?.exchange.fail(error);
    }
  }

  /** @returns what stands behind the head. */
  #takeHead(read: Http1Read, chunk: Buffer): Buffer {
    const bytes = this.#afterPartialHead(chunk);
    const text = headText(bytes, this.#partialLength);
    if (this.#headBytes + (text ?? bytes).length > maximumAnswerHeaderBytes) {
      throw invalidResponse('its head is too long');
    }
    if (text === undefined) {
      this.#partialHead ??= Buffer.from(bytes);
      this.#partialLength = bytes.length;
      return noBytes;
    }
    this.#partialHead = undefined;
    this.#partialLength = 0;
    const head = parseHttp1ResponseHead(text, this.#lastHeaders);
    this.#headBytes += text.length;
    this.#headLines += 1 + head.headers.length / 2;
    if (this.#headLines > maximumAnswerLines) throw invalidResponse('its head has too many lines');
    const rest = bytes.subarray(text.length + 4);
    const { status, bodyLength } = head;
    if (status === 101) throw invalidResponse('it switches protocols, which nobody asked for');
    // Other interim heads announce the final one (RFC 9110 section 15.2).
    if (status < 200) return rest;
    this.#lastHeaders = head.headers;
    const hasBody = read.method !== 'HEAD' && status !== 204 && status !== 304;
    this.#persistent &&= head.persistent && !(hasBody && bodyLength === 'until-close');
    this.#bodyLength = hasBody ? bodyLength : 0;
    if (typeof this.#bodyLength === 'number') this.#left = this.#bodyLength;
    read.exchange.head(status, head.statusMessage, head.headers);
    if (this.#read !== read) return noBytes;
    if (this.#bodyLength === 'chunked') this.#chunked = new ChunkedBody((data) => read.exchange.lend(data));
    else if (this.#bodyLength === 0) this.#finish(read, rest);
    return this.#bodyLength === 0 ? noBytes : rest;
  }

  /**
   * One buffer for a head that comes in pieces, twice as large each time it is full: to copy all of it with every piece
   * would take seconds of a head that comes byte by byte.
   * @returns what has come of the head, and what stands behind it.
   */
  #afterPartialHead(chunk: Buffer): Buffer {
    const partial = this.#partialHead;
    if (partial === undefined) return chunk;
    const length = this.#partialLength + chunk.length;
    let room = partial;
    if (room.length < length) {
      room = Buffer.allocUnsafe(2 * length);
      partial.copy(room, 0, 0, this.#partialLength);
      this.#partialHead = room;
    }
    chunk.copy(room, this.#partialLength);
    return room.subarray(0, length);
  }

  /** @returns what stands behind the body; nothing, once that has ended the connection. */
  #takeBody(read: Http1Read, chunk: Buffer): Buffer {
    const { exchange } = read;
    if (this.#bodyLength === 'until-close') {
      exchange.lend(chunk);
      return noBytes;
    }
    if (this.#chunked !== undefined) {
      const taken = this.#chunked.push(chunk);
      if (this.#chunked.isOver && this.#read === read) this.#finish(read, chunk.subarray(taken));
      return noBytes;
    }
    const data = chunk.length <= this.#left ? chunk : chunk.subarray(0, this.#left);
    this.#left -= data.length;
    exchange.lend(data);
    if (this.#left === 0 && this.#read === read) this.#finish(read, chunk.subarray(data.length));
    return noBytes;
  }

  /** The answer is whole. @param surplus bytes behind it, which belong to no answer that anybody waits for. */
  #finish(read: Http1Read, surplus: Buffer): void {
    this.#read = undefined;
    this.#chunked = undefined;
    if (surplus.length > 0) this.#socket.destroy();
    else if (this.#socket.isPaused()) this.#readUp();
    else this.#fallIdle();
    read.exchange.end();
  }

  /**
   * Paused for a slow reader, the socket may hold surplus that nobody has seen, which the next caller would be
   * given. It comes up within a whole turn of the event loop, and ends the connection.
   */
  #readUp(): void {
    this.#socket.resume();
    setImmediate(() => setImmediate(() => this.#fallIdle()));
  }

  #fallIdle(): void {
    if (this.#persistent && this.#socket.writable) this.#events.onIdle(this);
    else this.#socket.destroy();
  }

  /** The destination sends no more. */
  #ended(): void {
    const read = this.#read;
    if (read !== undefined && this.#bodyLength === 'until-close') {
      this.#read = undefined;
      read.exchange.end();
    }
    this.#socket.destroy();
  }

  #broken(error: Error): void {
    const read = this.#read;
    if (read === undefined) return;
    this.#read = undefined;
    const unanswered = this.#bodyLength === undefined && this.#partialHead === undefined;
    if (unanswered && read.exchange.restart()) read.onUnanswered();
    else read.exchange.fail(error);
  }
}

const noBytes = Buffer.alloc(0);
