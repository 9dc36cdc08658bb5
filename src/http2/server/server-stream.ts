import type { TLSSocket } from 'node:tls';
import type { HeaderLines } from '../fields/header-lines.ts';
import { ReceiveWindow, SendWindow } from '../frames/flow-window.ts';
import { errorCode } from '../frames/frame.ts';
import { HeldPieces } from '../frames/held-pieces.ts';
import { malformedRequest } from '../frames/http2-error.ts';
import type { ReceivingStream } from '../frames/receiving-session.ts';
import { answerBlock, hasContent, interimBlock } from './answer-head.ts';
import type { AnswerWriter, IncomingStream, StreamFollower } from './incoming-stream.ts';
import { RequestContent } from './request-content.ts';
import { checkTrailers, type RequestHead } from './request-head.ts';
import type { ServerOutput, WaitingStream } from './server-output.ts';

/** What a stream needs of its connection. */
export interface StreamConnection {
  readonly socket: TLSSocket;
  readonly output: ServerOutput;
  /** A piece of a request's content came: `deliver` is to be called behind all that came with it. */
  contentReceived(content: RequestContent): void;
  streamClosed(stream: ServerStream): void;
  /** It has its answer, and has not sent all of its request: it is to stop. */
  answeredEarly(stream: ServerStream): void;
  /** The client has made us reset a stream. @throws {Http2Error} */
  clientFaulted(): void;
  /** Takes no new requests, and ends behind those that are under way. */
  close(): void;
}

export interface ServerStreamOptions {
  readonly id: number;
  readonly connection: StreamConnection;
  readonly head: RequestHead;
  /** Whether nothing follows the head. */
  readonly endStream: boolean;
  /** Bytes that the client may send ahead. */
  readonly receiveWindow: number;
  /** Bytes that may be sent ahead to the client. */
  readonly sendWindow: number;
}

/** One request and its answer on a connection (RFC 9113 section 5). */
export class ServerStream implements IncomingStream, ReceivingStream, WaitingStream {
  readonly id: number;
  readonly head: RequestHead;
  readonly sendWindow: SendWindow;
  isWaiting = false;
  writer: AnswerWriter | undefined;
  status: number | undefined;
  takesContent = true;
  readonly #connection: StreamConnection;
  #receivedLength = 0;
  /** Of a request with content. */
  readonly #window: ReceiveWindow | undefined;
  #content: RequestContent | undefined;
  #isReceived: boolean;
  #followers: StreamFollower | StreamFollower[] | undefined;
  /** Nothing more is written; pieces may still be held. */
  #isEnding = false;
  /** END_STREAM is on its way. */
  #isAnswered = false;
  #isClosed = false;
  /** Waits for a window or for the client. */
  #held: HeldPieces | undefined;

  constructor(options: ServerStreamOptions) {
    const { id, connection, head, endStream } = options;
    this.id = id;
    this.#connection = connection;
    this.head = head;
    this.#isReceived = endStream;
    this.#window = endStream ? undefined : new ReceiveWindow(options.receiveWindow);
    this.sendWindow = new SendWindow(options.sendWindow);
  }

  get socket(): TLSSocket {
    return this.#connection.socket;
  }

  get hasContent(): boolean {
    return this.#window !== undefined;
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

  follow(follower: StreamFollower): void {
    if (this.#isClosed) follower.onClosed();
    else if (this.#followers === undefined) this.#followers = follower;
    else this.#followers = [this.#followers, follower].flat();
  }

  closeConnection(): void {
    this.#connection.close();
  }

  respondInterim(status: number): void {
    if (this.#isClosed || this.status !== undefined) return;
    this.#connection.output.headers(this.id, interimBlock(status));
  }

  respond(status: number, headers: HeaderLines): void {
    // The request may have been answered for taking too long, past whoever is still working on it.
    if (this.status !== undefined) throw new TypeError('the request has been answered');
    const block = answerBlock(status, headers);
    if (this.#isClosed) return;
    this.status = status;
    this.takesContent = this.head.method !== 'HEAD' && hasContent(status);
    this.#connection.output.headers(this.id, block);
  }

  write(piece: Uint8Array): boolean {
    if (this.#isClosed || this.#isEnding) return true;
    if (this.status === undefined) throw new TypeError('the head of the answer comes first');
    if (!this.takesContent) return true;
    const { output } = this.#connection;
    const sent = this.isHolding ? 0 : output.data(this.id, this.sendWindow, piece);
    if (sent < piece.length) {
      this.#held ??= new HeldPieces('lent');
      this.#held.add(sent === 0 ? piece : piece.subarray(sent));
    } else if (!output.isHeld) return true;
    output.waits(this);
    return false;
  }

  end(): void {
    if (this.#isClosed || this.#isEnding) return;
    if (this.status === undefined) throw new TypeError('the head of the answer comes first');
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
    if (this.#receivedLength > (this.head.contentLength ?? this.#receivedLength)) {
      throw malformedRequest('it is longer than it says');
    }
    this.content.receive(piece);
    this.#connection.contentReceived(this.content);
  }

  receiveEnd(): void {
    // RFC 9113 section 8.1.1.
    if (this.#receivedLength !== (this.head.contentLength ?? this.#receivedLength)) {
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
    const followers = this.#followers;
    this.writer = undefined;
    this.#followers = undefined;
    this.#connection.streamClosed(this);
    if (Array.isArray(followers)) for (const follower of followers) follower.onClosed();
    else followers?.onClosed();
    writer?.onClosed();
  }
}
