import type { HeaderLines } from '../fields/header-lines.ts';
import { ReceiveWindow, SendWindow } from '../frames/flow-window.ts';
import { errorCode } from '../frames/frame.ts';
import { HeldPieces } from '../frames/held-pieces.ts';
import { malformedRequest } from '../frames/http2-error.ts';
import type { ReceivingStream } from '../frames/session-receiver.ts';
import { answerBlock, interimBlock } from './answer-head.ts';
import { RequestContent } from './request-content.ts';
import { checkTrailers } from './request-head.ts';
import type { ServerOutput, WaitingStream } from './server-output.ts';

/** What a stream needs of its connection. */
export interface StreamConnection {
  readonly output: ServerOutput;
  /** A piece of a request's content came: `deliver` is to be called behind all that came with it. */
  contentReceived(content: RequestContent): void;
  streamClosed(stream: ServerStream): void;
  /** It has its answer, and has not sent all of its request: it is to stop. */
  answeredEarly(stream: ServerStream): void;
  /** The client has made us reset a stream. @throws {Http2Error} */
  clientFaulted(): void;
}

/** Who works on the answer. */
export interface AnswerWriter {
  /** All that was written is on its way, and more is taken. */
  onRoom(): void;
  /** The stream is over, well or not. */
  onClosed(): void;
}

export interface ServerStreamOptions {
  readonly id: number;
  readonly connection: StreamConnection;
  /** Bytes that the request says it has, if it does. */
  readonly contentLength: number | undefined;
  /** Whether nothing follows the head. */
  readonly endStream: boolean;
  /** Bytes that the client may send ahead. */
  readonly receiveWindow: number;
  /** Bytes that may be sent ahead to the client. */
  readonly sendWindow: number;
}

/** One request and its answer on a connection (RFC 9113 section 5). */
export class ServerStream implements ReceivingStream, WaitingStream {
  readonly id: number;
  readonly sendWindow: SendWindow;
  isWaiting = false;
  writer: AnswerWriter | undefined;
  readonly #connection: StreamConnection;
  readonly #expectedLength: number | undefined;
  #receivedLength = 0;
  /** Of a request with content. */
  readonly #window: ReceiveWindow | undefined;
  #content: RequestContent | undefined;
  #isReceived: boolean;
  #hasBegun = false;
  /** Nothing more is written; pieces may still be held. */
  #isEnding = false;
  /** END_STREAM is on its way. */
  #isAnswered = false;
  #isClosed = false;
  /** Waits for a window or for the client. */
  #held: HeldPieces | undefined;

  constructor(options: ServerStreamOptions) {
    const { id, connection, contentLength, endStream } = options;
    this.id = id;
    this.#connection = connection;
    this.#expectedLength = contentLength;
    this.#isReceived = endStream;
    this.#window = endStream ? undefined : new ReceiveWindow(options.receiveWindow);
    this.sendWindow = new SendWindow(options.sendWindow);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Whether the request is here to its end: nothing more of it comes. */
  get isReceived(): boolean {
    return this.#isReceived;
  }

  /** Bytes that the client may still send. */
  get receiveWindow(): number {
    return this.#window?.left ?? 0;
  }

  /** Whether the head of an answer has been written. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Whether the answer was handed to the connection to its end. */
  get isAnswered(): boolean {
    return this.#isAnswered;
  }

  get isHolding(): boolean {
    return this.#held !== undefined && !this.#held.isEmpty;
  }

  /** What follows the head of the request. */
  get content(): RequestContent {
    if (this.#content === undefined) {
      this.#content = new RequestContent((bytes) => this.#release(bytes));
      // Whoever begins to read it only now has to be told.
      if (this.#isClosed) this.#content.destroy();
    }
    return this.#content;
  }

  /** An answer in front of the answer (RFC 9110 section 15.2). */
  respondInterim(status: number): void {
    if (this.#isClosed || this.#hasBegun) return;
    this.#connection.output.headers(this.id, interimBlock(status));
  }

  /** @throws {TypeError} when the head cannot be written, or there has been one; nothing was written then. */
  respond(status: number, headers: HeaderLines): void {
    // The request may have been answered for taking too long, past whoever is still working on it.
    if (this.#hasBegun) throw new TypeError('the request has been answered');
    const block = answerBlock(status, headers);
    if (this.#isClosed) return;
    this.#hasBegun = true;
    this.#connection.output.headers(this.id, block);
  }

  /** @param piece lent @returns false when the client is slower: hold until `onRoom` */
  write(piece: Uint8Array): boolean {
    if (this.#isClosed || this.#isEnding) return true;
    const { output } = this.#connection;
    const sent = this.isHolding ? 0 : output.data(this.id, this.sendWindow, piece);
    if (sent < piece.length) {
      this.#held ??= new HeldPieces('lent');
      this.#held.add(sent === 0 ? piece : piece.subarray(sent));
    } else if (!output.isHeld) return true;
    output.waits(this);
    return false;
  }

  /** Ends the answer behind all that was written. */
  end(): void {
    if (this.#isClosed || this.#isEnding) return;
    this.#isEnding = true;
    const { output } = this.#connection;
    // While the client reads nothing its streams stay open: their number bounds what waits for it.
    if (output.isHeld) output.waits(this);
    else if (!this.isHolding) this.#finish();
  }

  /** There may be room for what is held. */
  proceed(): void {
    const { output } = this.#connection;
    const held = this.#held;
    while (held !== undefined && !held.isEmpty) {
      if (output.isHeld) {
        output.waits(this);
        return;
      }
      const piece = held.take() as Buffer;
      const sent = output.data(this.id, this.sendWindow, piece);
      if (sent === piece.length) {
        held.giveBack();
        continue;
      }
      held.putBack(piece.length - sent);
      output.waits(this);
      return;
    }
    if (this.#isClosed) return;
    // Told once: its own window may have been widened while it waited for the connection.
    output.waitsNoMore(this);
    if (this.#isEnding) this.#finish();
    else this.writer?.onRoom();
  }

  windowWidened(): void {
    if (this.isHolding) this.proceed();
  }

  /** The client's fault. @throws {Http2Error} of scope `connection` when there are too many of them */
  reset(code: number): void {
    if (this.#isClosed) return;
    this.#connection.output.reset(this.id, code);
    this.#close();
    this.#connection.clientFaulted();
  }

  /** The answer broke off: the client must not take what it has for the whole. */
  breakOff(): void {
    if (this.#isClosed) return;
    this.#connection.output.reset(this.id, errorCode.internalError);
    this.#close();
  }

  resetByPeer(): void {
    this.#isReceived = true;
    this.#close();
  }

  /** The connection is gone. Nothing is written. */
  abandon(): void {
    this.#close();
  }

  receiveTrailers(decoded: readonly string[], endStream: boolean): void {
    if (!endStream) throw malformedRequest('something follows its trailers');
    // They are dropped, as Kubernetes has no use for any.
    checkTrailers(decoded);
    this.receiveEnd();
  }

  receiveDataHead(bytes: number): void {
    if (this.#window?.take(bytes) !== true) {
      throw malformedRequest('more was sent than was granted', errorCode.flowControlError);
    }
  }

  dropPadding(bytes: number): void {
    this.#release(bytes);
  }

  receiveData(piece: Uint8Array): void {
    this.#receivedLength += piece.length;
    if (this.#expectedLength !== undefined && this.#receivedLength > this.#expectedLength) {
      throw malformedRequest('it is longer than it says');
    }
    this.content.receive(piece);
    this.#connection.contentReceived(this.content);
  }

  receiveEnd(): void {
    // RFC 9113 section 8.1.1.
    if (this.#expectedLength !== undefined && this.#receivedLength !== this.#expectedLength) {
      throw malformedRequest('it is shorter than it says');
    }
    this.#isReceived = true;
    this.content.receiveEnd();
    this.#connection.contentReceived(this.content);
  }

  #release(bytes: number): void {
    const granted = this.#window?.release(bytes) ?? 0;
    if (granted > 0 && !this.#isClosed && !this.#isReceived) {
      this.#connection.output.windowUpdate(this.id, granted);
    }
  }

  #finish(): void {
    this.#connection.output.endStream(this.id);
    this.#isAnswered = true;
    if (!this.#isReceived) this.#connection.answeredEarly(this);
    this.#close();
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#held?.clear();
    this.#connection.output.waitsNoMore(this);
    // Who still reads it has no answer to wait for any more, or has had all of it.
    if (this.#content?.readableEnded === false) this.#content.destroy();
    const { writer } = this;
    this.writer = undefined;
    this.#connection.streamClosed(this);
    writer?.onClosed();
  }
}
