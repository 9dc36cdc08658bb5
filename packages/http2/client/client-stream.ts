import type { Readable } from 'node:stream';
import type { HeaderLines } from '../fields/header-fields.ts';
import { PieceQueue, ReceiveWindow, SendWindow, type WindowGrowth } from '../frames/flow-control.ts';
import {
  defaultMaximumFrameSize,
  errorCode,
  errorCodeName,
  Http2Error,
  malformedResponse,
} from '../frames/frame.ts';
import type { FrameOutput, WaitingStream } from '../frames/frame-output.ts';
import { parseResponseLines } from '../frames/message-heads.ts';
import { ReceivingStream } from '../frames/session-receiver.ts';
import type { StreamState } from '../frames/stream-state.ts';
import type { HeldBytes } from '../sockets/held-bytes.ts';

/** The content of a request on its way, as fast as the server takes it. */
export class RequestUpload implements WaitingStream {
  readonly #output: FrameOutput;
  readonly #stream: ClientStream;
  readonly #source: Readable | undefined;
  #pending: Uint8Array | undefined;

  constructor(output: FrameOutput, stream: ClientStream, content: Uint8Array | Readable) {
    this.#output = output;
    this.#stream = stream;
    if (content instanceof Uint8Array) {
      stream.requestWhole();
      if (content.length > 0) this.#pending = content;
      return;
    }
    this.#source = content;
    content.on('data', this.#taken).on('end', this.#finished);
    content.on('error', this.#failed).on('close', this.#closed);
    if (content.closed) process.nextTick(this.#closed);
  }

  get hasQueuedContent(): boolean {
    return this.#pending !== undefined;
  }

  /** The source has no more. */
  get #isWhole(): boolean {
    return this.#stream.state === 'open, ending';
  }

  proceed(): void {
    const output = this.#output;
    const { id, sendWindow } = this.#stream;
    let isEndSent = false;
    while (this.#pending !== undefined) {
      const pending = this.#pending;
      // A frame at a time: what the server does not read now stays with its source.
      const piece = pending.subarray(0, defaultMaximumFrameSize);
      isEndSent = this.#isWhole && piece.length === pending.length;
      const sent = output.needsDrain ? 0 : output.data(id, sendWindow, piece, isEndSent);
      if (sent > 0) this.#pending = sent === pending.length ? undefined : pending.subarray(sent);
      if (sent < piece.length) {
        output.wait(this);
        return;
      }
    }
    output.stopWaiting(this);
    if (!this.#isWhole) {
      this.#source?.resume();
      return;
    }
    if (!isEndSent) output.endStream(id);
    this.#stream.requestSent();
  }

  stop(): void {
    this.#output.stopWaiting(this);
    this.#pending = undefined;
    // The error listener stays: a source that fails later must not throw an unhandled error.
    this.#source?.off('data', this.#taken).off('end', this.#finished).destroy();
  }

  readonly #taken = (chunk: unknown): void => {
    // A stream in object mode, or with an encoding, has strings.
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    if (!(bytes instanceof Uint8Array)) {
      this.#failed(new TypeError('a piece of the request body is neither bytes nor a string'));
      return;
    }
    if (bytes.length === 0) return;
    this.#source?.pause();
    this.#pending = bytes;
    this.proceed();
  };

  readonly #finished = (): void => {
    this.#stream.requestWhole();
    if (this.#pending === undefined) this.proceed();
  };

  readonly #failed = (error: Error): void => {
    // The response may still wait for its reader.
    if (this.#stream.state !== 'open' && !this.#isWhole) return;
    // Without END_STREAM: the server must not take a part for the whole body.
    this.#stream.reset(errorCode.cancel, error);
  };

  /** Destroyed without an error, a source has no 'end'. */
  readonly #closed = (): void => {
    if (!this.#isWhole) this.#failed(new Error('the request body was closed before its end'));
  };
}

/** Where the listener takes its response from. */
export interface ResponseSource {
  pause(): void;
  resume(): void;
  /** There will be no more of the response: the listener is told so, if it has not been told its end. */
  abort(reason: Error): void;
}

/** An error that a listener throws ends the listener's own request, never the connection; `fail` must not throw. */
export interface StreamListener {
  readonly held?: HeldBytes | undefined;
  /** The request is about to be written. Once for each try. @throws if it is not to be sent any more */
  begun(source: ResponseSource): void;
  head(status: number, lines: string[]): void;
  /** @param piece overwritten as soon as this returns */
  data(piece: Uint8Array): void;
  end(): void;
  /** There will be no (complete) response. @param isUnprocessed the server has not processed the request (RFC 9113 section 8.7) */
  fail(error: Error, isUnprocessed: boolean): void;
}

export interface ClientRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderLines;
  /** A whole short body, or a stream that is read as fast as the server takes it. */
  readonly content: Uint8Array | Readable | undefined;
  /**
   * The content that is sent, asked for when nothing keeps the request from being written any more: only then may the
   * body of a request be taken that others may want to send again. Default: `content`.
   */
  takeContent?(): Uint8Array | Readable | undefined;
  /**
   * The server has not processed it.
   * @returns whether it is sent on another connection, of which the listener is told as of this one. Default: no
   */
  isSentAgain?(error: Error): boolean;
}

export interface ClientLimits {
  /** Flow-control window of one stream at its begin, in bytes. Default 65,536. */
  readonly streamWindow: number;
  /** How far it grows while its content is taken quickly. Default: to 262,144 bytes. */
  readonly windowGrowth?: WindowGrowth;
  /** Lines of all heads of one response together, interim ones included. Default 4,096. */
  readonly maximumHeaderLines: number;
  /** Bytes of the same, and of trailers. Default 65,536. */
  readonly maximumHeaderBytes: number;
}

export interface StreamConnection {
  readonly output: FrameOutput;
  streamClosed(stream: ClientStream, code: number): void;
}

interface StreamOptions {
  readonly connection: StreamConnection;
  readonly request: ClientRequest;
  readonly listener: StreamListener;
  readonly limits: ClientLimits;
  readonly sendWindow: number;
}

/** One request and its response on a connection (RFC 9113 section 5). */
export class ClientStream extends ReceivingStream implements ResponseSource {
  /** Given when the request is written; 0 until then. */
  id = 0;
  readonly sendWindow: SendWindow;
  /** How often the socket was written to before the head was gathered. */
  gatheredAt = 0;
  upload: RequestUpload | undefined;
  readonly #connection: StreamConnection;
  /** Until it has been told the end of its response. */
  #listener: StreamListener | undefined;
  /** Dropped with the head: its memory must not be kept for as long as the response lasts. */
  #request: ClientRequest | undefined;
  readonly #maximumHeaderLines: number;
  #headLines = 0;
  #paused = false;
  readonly #queued = new PieceQueue('lent');
  #queuedBytes = 0;

  constructor(options: StreamOptions) {
    const { streamWindow, windowGrowth, maximumHeaderLines } = options.limits;
    super(options.connection.output, 'idle', new ReceiveWindow(streamWindow, windowGrowth));
    this.#connection = options.connection;
    this.#request = options.request;
    this.#listener = options.listener;
    this.#maximumHeaderLines = maximumHeaderLines;
    this.sendWindow = new SendWindow(options.sendWindow);
  }

  /** The head of the request was written. */
  opened(id: number, hasContent: boolean): void {
    this.id = id;
    this.change('HEADERS sent');
    if (!hasContent) this.change('END_STREAM sent');
  }

  get #hasHead(): boolean {
    return this.#request === undefined;
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    while (!this.#paused) {
      const piece = this.#queued.take();
      if (piece === undefined) break;
      this.#count(-piece.length);
      this.#handOn(piece);
      this.#queued.release();
    }
    if (this.state === 'closed' && this.#queued.isEmpty) this.#tellEnd();
  }

  abort(reason: Error): void {
    // The request is not written then, of which the listener is told.
    if (this.state === 'idle') {
      this.#takeListener();
      this.change('reset');
    } else this.reset(errorCode.cancel, reason);
  }

  reset(code: number, error: Error): void {
    this.#dropQueued();
    const listener = this.#takeListener();
    if (!this.isClosed) {
      this.output.reset(this.id, code);
      this.change('reset', code);
    }
    // A whole response fails, too, where queued content was dropped: the listener gets no `end`.
    listener?.fail(error, false);
  }

  fail(error: Error, { code, refused }: { readonly code: number; readonly refused: boolean }): void {
    if (this.isClosed) return;
    this.#dropQueued();
    const listener = this.#takeListener();
    this.change('reset', code);
    // After a head it was processed, whatever the server says.
    const isUnprocessed = refused && !this.#hasHead;
    if (isUnprocessed && this.#request?.isSentAgain?.(error) === true) return;
    listener?.fail(error, isUnprocessed);
  }

  resetByPeer(code: number): void {
    const message = `the stream was closed (HTTP/2 code ${errorCodeName(code)})`;
    this.fail(new Http2Error('stream', code, message), { code, refused: code === errorCode.refusedStream });
  }

  receiveLines(decoded: readonly string[], endStream: boolean): void {
    const { status, lines, contentLength } = parseResponseLines(decoded, this.#hasHead);
    this.#headLines += 1 + lines.length / 2;
    if (this.#headLines > this.#maximumHeaderLines) {
      throw malformedResponse('its head has too many lines', errorCode.enhanceYourCalm);
    }
    if (status === undefined) {
      // Trailers are dropped: Kubernetes sends none, and HTTP/1.1 clients would have to ask for them.
      if (!endStream) throw malformedResponse('its trailers do not end the stream');
    } else if (status < 200) {
      // HTTP/2 has no 101 (RFC 9113 section 8.6), and an interim response does not end the stream (section 8.1).
      if (status === 101 || endStream) throw malformedResponse('it has a misplaced interim response');
      return;
    } else {
      // A response to HEAD has no content, whatever its Content-Length (RFC 9110 section 9.3.2).
      const hasNoContent = this.#request?.method === 'HEAD' || status === 204 || status === 304;
      this.#request = undefined;
      this.expectedLength = hasNoContent ? 0 : contentLength;
      try {
        this.#listener?.head(status, lines);
      } catch (error) {
        this.abort(asError(error));
      }
    }
    if (endStream && !this.isClosed) this.receiveEnd();
  }

  protected malformed(reason: string, code: number = errorCode.protocolError): void {
    this.reset(code, malformedResponse(reason, code));
  }

  override receiveDataHead(bytes: number): void {
    if (this.#hasHead) super.receiveDataHead(bytes);
    else this.malformed('it has content before its head');
  }

  protected takeContent(piece: Uint8Array): void {
    if (this.#paused) {
      this.#queued.add(piece);
      this.#count(piece.length);
    } else this.#handOn(piece);
  }

  protected takeEnd(): void {
    if (!this.#hasHead) {
      this.malformed('it has no head');
      return;
    }
    this.change('message received');
    if (!this.isClosed) {
      // The server needs no more of the upload (RFC 9113 section 8.1). Without a reset the stream would count against the
      // server's limit for as long as the connection lives.
      this.output.reset(this.id, errorCode.cancel);
      this.change('rest given up', errorCode.cancel);
    }
    if (this.#queued.isEmpty) this.#tellEnd();
  }

  windowWidened(): void {
    this.upload?.proceed();
  }

  requestWhole(): void {
    this.change('message whole');
  }

  requestSent(): void {
    this.upload = undefined;
    this.change('END_STREAM sent');
  }

  #dropQueued(): void {
    this.#queued.clear();
    this.#count(-this.#queuedBytes);
  }

  #count(bytes: number): void {
    if (bytes === 0) return;
    this.#queuedBytes += bytes;
    this.#listener?.held?.add(bytes);
  }

  #tellEnd(): void {
    const listener = this.#takeListener();
    try {
      listener?.end();
    } catch (error) {
      listener?.fail(asError(error), false);
    }
  }

  #takeListener(): StreamListener | undefined {
    const listener = this.#listener;
    this.#listener = undefined;
    return listener;
  }

  #handOn(piece: Uint8Array): void {
    try {
      this.#listener?.data(piece);
    } catch (error) {
      this.abort(asError(error));
    }
    this.grant(piece.length);
  }

  protected closed(before: StreamState, code: number): void {
    this.upload?.stop();
    this.upload = undefined;
    // Aborted before it was written: the connection does not know it.
    if (before !== 'idle') this.#connection.streamClosed(this, code);
  }
}

export function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
