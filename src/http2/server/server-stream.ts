import type { TLSSocket } from 'node:tls';
import type { HeaderLines } from '../fields/header-fields.ts';
import { ReceiveWindow, SendWindow, type WindowGrowth } from '../frames/flow-window.ts';
import { errorCode } from '../frames/frame.ts';
import type { FrameOutput, WaitingStream } from '../frames/frame-output.ts';
import { malformedRequest } from '../frames/http2-error.ts';
import { PieceQueue } from '../frames/piece-queue.ts';
import type { ReceivingStream } from '../frames/receiving-session.ts';
import type { BudgetShare, Holder, Holding } from '../sockets/held-bytes.ts';
import type { IncomingStream, ResponseWriter, StreamFollower } from './incoming-stream.ts';
import { RequestContent } from './request-content.ts';
import { checkTrailers, type RequestHead, respondedHead } from './request-head.ts';
import { hasContent, interimBlock, responseBlock } from './response-head.ts';

export interface StreamConnection {
  readonly socket: TLSSocket;
  readonly output: FrameOutput;
  readonly share: BudgetShare;
  readonly windowGrowth: WindowGrowth;
  /** A piece of content was received: `deliver` is called once after all that the same read brought. */
  contentReceived(content: RequestContent): void;
  streamClosed(stream: ServerStream): void;
  /** The response is complete before the request is: the client must stop sending it. */
  respondedEarly(stream: ServerStream): void;
  /** The client made us reset a stream. @throws {Http2Error} */
  clientCausedReset(): void;
  /** Sends GOAWAY, and ends after the requests in flight. */
  close(): void;
}

export interface ServerStreamOptions {
  readonly id: number;
  readonly connection: StreamConnection;
  readonly head: RequestHead;
  /** Memory of the head. */
  readonly headBytes: number;
  /** Whether nothing follows the head. */
  readonly endStream: boolean;
  /** Flow-control window for the request, in bytes. */
  readonly receiveWindow: number;
  /** Flow-control window for the response, in bytes. */
  readonly sendWindow: number;
}

/** One request and its response on a connection (RFC 9113 section 5). */
export class ServerStream implements IncomingStream, ReceivingStream, WaitingStream, Holder {
  readonly id: number;
  head: RequestHead;
  readonly sendWindow: SendWindow;
  isWaiting = false;
  writer: ResponseWriter | undefined;
  status: number | undefined;
  takesContent = true;
  readonly #connection: StreamConnection;
  #receivedLength = 0;
  /** Only if the request has content. */
  readonly #window: ReceiveWindow | undefined;
  #content: RequestContent | undefined;
  #isReceived: boolean;
  #followers: StreamFollower | StreamFollower[] | undefined;
  /** Nothing more is written; pieces may still be queued. */
  #isEnding = false;
  /** END_STREAM was written. */
  #isResponseSent = false;
  #isClosed = false;
  /** Content that waits for flow control or for the client. */
  #queued: PieceQueue | undefined;
  /** Bytes of the head that are counted. */
  #headBytes: number;
  /** Content of both directions that nobody has taken; made for the first piece. */
  #held: Holding | undefined;

  constructor(options: ServerStreamOptions) {
    const { id, connection, head, endStream } = options;
    this.id = id;
    this.#connection = connection;
    this.head = head;
    this.#headBytes = options.headBytes;
    connection.share.add(options.headBytes);
    this.#isReceived = endStream;
    this.#window = endStream ? undefined : new ReceiveWindow(options.receiveWindow, connection.windowGrowth);
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

  get isReceived(): boolean {
    return this.#isReceived;
  }

  /** Bytes left in the window. */
  get receiveWindow(): number {
    return this.#window?.left ?? 0;
  }

  get isResponseSent(): boolean {
    return this.#isResponseSent;
  }

  get held(): Holding {
    this.#held ??= this.#connection.share.content(this);
    if (this.#isClosed) this.#held.end();
    return this.#held;
  }

  giveUp(): void {
    this.#resetWith(errorCode.enhanceYourCalm);
  }

  get hasQueuedContent(): boolean {
    return this.#queued !== undefined && !this.#queued.isEmpty;
  }

  get content(): RequestContent {
    if (this.#content === undefined) {
      this.#content = new RequestContent(this.held, (bytes) => this.#release(bytes));
      // A late reader must see that it ended early.
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
    this.#connection.output.headers(this.id, interimBlock(status), false);
  }

  respond(status: number, headers: HeaderLines): void {
    // A time-out may have responded while the handler is still working.
    if (this.status !== undefined) throw new TypeError('the response has begun already');
    const block = responseBlock(status, headers);
    if (this.#isClosed) return;
    this.status = status;
    this.takesContent = this.head.method !== 'HEAD' && hasContent(status);
    this.#connection.output.headers(this.id, block, false);
    this.head = respondedHead(this.head);
    this.#countHead(this.head.target.length);
    if (Array.isArray(this.#followers)) for (const follower of this.#followers) follower.onResponded?.();
    else this.#followers?.onResponded?.();
  }

  /** @param bytes fewer than before */
  #countHead(bytes: number): void {
    if (bytes >= this.#headBytes) return;
    this.#connection.share.add(bytes - this.#headBytes);
    this.#headBytes = bytes;
  }

  write(piece: Uint8Array): boolean {
    if (this.#isClosed || this.#isEnding) return true;
    if (this.status === undefined) throw new TypeError('the head of the response must be written first');
    if (!this.takesContent) return true;
    const { output } = this.#connection;
    // Also while `needsDrain`: a copy in the queue would cost as much.
    const sent = this.hasQueuedContent ? 0 : output.data(this.id, this.sendWindow, piece);
    if (sent < piece.length) {
      this.#queued ??= new PieceQueue('lent');
      this.#queued.add(sent === 0 ? piece : piece.subarray(sent));
      this.held.add(piece.length - sent);
    } else if (!output.needsDrain) return true;
    output.wait(this);
    return false;
  }

  end(): void {
    if (this.#isClosed || this.#isEnding) return;
    if (this.status === undefined) throw new TypeError('the head of the response must be written first');
    this.#isEnding = true;
    const { output } = this.#connection;
    // While the client does not read, its streams stay open: the limit of streams bounds what waits for it.
    if (output.needsDrain) output.wait(this);
    else if (!this.hasQueuedContent) this.#finish();
  }

  /** Sends queued data, as far as the windows allow. */
  proceed(): void {
    const { output } = this.#connection;
    const queued = this.#queued;
    while (queued !== undefined && !queued.isEmpty) {
      if (output.needsDrain) {
        output.wait(this);
        return;
      }
      const piece = queued.take() as Buffer;
      const sent = output.data(this.id, this.sendWindow, piece);
      this.#held?.add(-sent);
      if (sent === piece.length) {
        queued.release();
        continue;
      }
      queued.putBack(piece.length - sent);
      output.wait(this);
      return;
    }
    if (this.#isClosed) return;
    // Only one call of `onRoom`: its own window may have been widened while it waited for the connection.
    output.stopWaiting(this);
    if (this.#isEnding) this.#finish();
    else this.writer?.onRoom();
  }

  windowWidened(): void {
    if (this.hasQueuedContent) this.proceed();
  }

  /** Resets the stream because of an error of the client. @throws {Http2Error} of scope `connection` after too many */
  reset(code: number): void {
    if (this.#isClosed) return;
    this.#connection.output.reset(this.id, code);
    this.#close();
    this.#connection.clientCausedReset();
  }

  breakOff(): void {
    this.#resetWith(errorCode.internalError);
  }

  #resetWith(code: number): void {
    if (this.#isClosed) return;
    this.#connection.output.reset(this.id, code);
    this.#close();
  }

  resetByPeer(): void {
    this.#isReceived = true;
    this.#close();
  }

  /** The connection is gone: nothing is written. */
  abandon(): void {
    this.#close();
  }

  receiveTrailers(decoded: readonly string[], endStream: boolean): void {
    if (!endStream) throw malformedRequest('its trailers do not end the stream');
    // They are dropped: Kubernetes uses none.
    checkTrailers(decoded);
    this.receiveEnd();
  }

  receiveDataHead(bytes: number): void {
    if (this.#window?.take(bytes) !== true) {
      throw malformedRequest('it exceeds the flow-control window', errorCode.flowControlError);
    }
  }

  dropPadding(bytes: number): void {
    this.#release(bytes);
  }

  receiveData(piece: Uint8Array): void {
    this.#receivedLength += piece.length;
    if (this.#receivedLength > (this.head.contentLength ?? this.#receivedLength)) {
      throw malformedRequest('it is longer than its Content-Length');
    }
    this.content.receive(piece);
    this.#connection.contentReceived(this.content);
  }

  receiveEnd(): void {
    // RFC 9113 section 8.1.1.
    if (this.#receivedLength !== (this.head.contentLength ?? this.#receivedLength)) {
      throw malformedRequest('it is shorter than its Content-Length');
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
    this.#isResponseSent = true;
    if (!this.#isReceived) this.#connection.respondedEarly(this);
    this.#close();
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#queued?.clear();
    this.#held?.end();
    this.#countHead(0);
    this.#connection.output.stopWaiting(this);
    // A reader of the content must see that it ended early.
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
