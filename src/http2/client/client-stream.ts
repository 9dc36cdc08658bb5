import { ReceiveWindow, SendWindow } from '../frames/flow-window.ts';
import { errorCode } from '../frames/frame.ts';
import { HeldPieces } from '../frames/held-pieces.ts';
import { errorCodeName, Http2Error, malformedAnswer } from '../frames/http2-error.ts';
import type { ReceivingStream } from '../frames/receiving-session.ts';
import type { RequestUpload } from './request-upload.ts';
import { parseResponseLines } from './response-lines.ts';

/** What becomes of a request. */
export interface StreamListener {
  /** The final head; interim ones (1xx) are dropped. */
  head(status: number, lines: string[]): void;
  /** @param piece overwritten as soon as this returns */
  data(piece: Uint8Array): void;
  /** The answer is whole. */
  end(): void;
  /** There will be no (whole) answer. @param refused the server said that it did not process the request */
  fail(error: Error, refused: boolean): void;
}

/** What a stream needs of its connection. */
export interface StreamConnection {
  writeReset(streamId: number, code: number): void;
  writeWindowUpdate(streamId: number, increment: number): void;
  /** On the wire it is over; what was held for a slow reader may still be handed on. */
  streamClosed(stream: ClientStream, code: number): void;
}

export interface StreamOptions {
  readonly id: number;
  readonly connection: StreamConnection;
  readonly listener: StreamListener;
  /** An answer to HEAD has no data, whatever length it names (RFC 9110 section 9.3.2). */
  readonly isHead: boolean;
  /** Bytes that the server may send ahead. */
  readonly receiveWindow: number;
  /** Of all heads of the response together, interim ones included. */
  readonly maximumHeaderLines: number;
  /** Bytes that may be sent ahead to the server. */
  readonly sendWindow: number;
  /** The writer's `writes` when the head was given to it. */
  readonly collectedAt: number;
}

/** One request and its answer on a connection (RFC 9113 section 5). */
export class ClientStream implements ReceivingStream {
  readonly id: number;
  readonly sendWindow: SendWindow;
  readonly collectedAt: number;
  /** While the request's content is on its way. */
  upload: RequestUpload | undefined;
  readonly #connection: StreamConnection;
  readonly #listener: StreamListener;
  readonly #isHead: boolean;
  readonly #window: ReceiveWindow;
  readonly #maximumHeaderLines: number;
  #hasHead = false;
  /** Of all heads, interim ones included. */
  #headLines = 0;
  /** Bytes that the answer must have, where it says so. */
  #expectedLength: number | undefined;
  #receivedLength = 0;
  #paused = false;
  /** Came while the reader was paused; as much as the window lets the server send at most. */
  readonly #held = new HeldPieces('lent');
  /** The connection has no more to do with it. */
  #closed = false;
  /** Its end was received, but held pieces have to go first. */
  #endHeld = false;

  constructor(options: StreamOptions) {
    this.id = options.id;
    this.collectedAt = options.collectedAt;
    this.#connection = options.connection;
    this.#listener = options.listener;
    this.#isHead = options.isHead;
    this.#window = new ReceiveWindow(options.receiveWindow);
    this.#maximumHeaderLines = options.maximumHeaderLines;
    this.sendWindow = new SendWindow(options.sendWindow);
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** One whose answer is here to its end is closed. */
  get isReceived(): boolean {
    return this.#closed;
  }

  /** What comes from now on is held back, and not granted again. */
  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    while (!this.#paused) {
      const piece = this.#held.take();
      if (piece === undefined) break;
      this.#handOn(piece);
      this.#held.giveBack();
    }
    if (this.#endHeld && this.#held.isEmpty) {
      this.#endHeld = false;
      this.#listener.end();
    }
  }

  /** Gives the request up: RST_STREAM, and `error` for the listener. */
  reset(code: number, error: Error): void {
    const wasWhole = this.#endHeld;
    this.#held.clear();
    this.#endHeld = false;
    if (this.#closed) {
      // What was held goes no further, so that there is no end to tell of any more.
      if (wasWhole) this.#listener.fail(error, false);
      return;
    }
    this.#connection.writeReset(this.id, code);
    this.#close(code);
    this.#listener.fail(error, false);
  }

  /** The server has ended it, or the connection is gone. Nothing is written. */
  fail(error: Error, { code, refused }: { readonly code: number; readonly refused: boolean }): void {
    if (this.#closed) return;
    this.#held.clear();
    this.#close(code);
    this.#listener.fail(error, refused);
  }

  /** RST_STREAM was received. */
  resetByPeer(code: number): void {
    const message = `the stream was closed (HTTP/2 code ${errorCodeName(code)})`;
    this.fail(new Http2Error('stream', code, message), { code, refused: code === errorCode.refusedStream });
  }

  /** HEADERS were received. @throws {Http2Error} of scope `stream` */
  receiveLines(decoded: readonly string[], endStream: boolean): void {
    const { status, lines, contentLength } = parseResponseLines(decoded, this.#hasHead);
    this.#headLines += 1 + lines.length / 2;
    if (this.#headLines > this.#maximumHeaderLines) {
      throw malformedAnswer('its head has too many lines', errorCode.enhanceYourCalm);
    }
    if (status === undefined) {
      // Trailers: they are dropped, for Kubernetes sends none, and HTTP/1.1 clients have to ask for them.
      if (!endStream) throw malformedAnswer('something follows its trailers');
    } else if (status < 200) {
      // RFC 9113 section 8.6 has no 101, and no interim head is the last (section 8.1).
      if (status === 101 || endStream) throw malformedAnswer('an interim head is out of place');
      return;
    } else {
      this.#hasHead = true;
      const hasNoContent = this.#isHead || status === 204 || status === 304;
      this.#expectedLength = hasNoContent ? 0 : contentLength;
      this.#listener.head(status, lines);
    }
    if (endStream && !this.#closed) this.receiveEnd();
  }

  /** @param bytes of a DATA frame, padding and all. @throws {Http2Error} of scope `stream` */
  receiveDataHead(bytes: number): void {
    if (!this.#hasHead) throw malformedAnswer('its data stands in front of its head');
    if (!this.#window.take(bytes)) {
      throw malformedAnswer('more was sent than was granted', errorCode.flowControlError);
    }
  }

  /** Padding: nobody reads it. @param bytes of it */
  dropPadding(bytes: number): void {
    this.#release(bytes);
  }

  /** @param piece lent @throws {Http2Error} of scope `stream` */
  receiveData(piece: Uint8Array): void {
    this.#receivedLength += piece.length;
    if (this.#expectedLength !== undefined && this.#receivedLength > this.#expectedLength) {
      throw malformedAnswer('it is longer than it says');
    }
    if (this.#paused) this.#held.add(piece);
    else this.#handOn(piece);
  }

  /** END_STREAM was received. @throws {Http2Error} of scope `stream` */
  receiveEnd(): void {
    if (!this.#hasHead) throw malformedAnswer('it has no head');
    if (this.#expectedLength !== undefined && this.#receivedLength !== this.#expectedLength) {
      throw malformedAnswer('it is shorter than it says');
    }
    // Nobody wants the rest of the upload (RFC 9113 section 8.1); unended, the stream would count against the
    // server's limit for as long as the connection lives.
    const isWhole = this.upload === undefined;
    if (!isWhole) this.#connection.writeReset(this.id, errorCode.cancel);
    this.#close(isWhole ? errorCode.noError : errorCode.cancel);
    if (this.#held.isEmpty) this.#listener.end();
    else this.#endHeld = true;
  }

  windowWidened(): void {
    this.upload?.proceed();
  }

  #handOn(piece: Uint8Array): void {
    this.#listener.data(piece);
    this.#release(piece.length);
  }

  #release(bytes: number): void {
    const granted = this.#window.release(bytes);
    if (granted > 0 && !this.#closed) this.#connection.writeWindowUpdate(this.id, granted);
  }

  #close(code: number): void {
    this.#closed = true;
    this.upload?.stop();
    this.upload = undefined;
    this.#connection.streamClosed(this, code);
  }
}
