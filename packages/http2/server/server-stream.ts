import { Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { type HeaderLines, hasContent, linesForLogs } from '../fields/header-fields.ts';
import { PieceQueue, ReceiveWindow, SendWindow, type WindowGrowth } from '../frames/flow-control.ts';
import { errorCode, malformedRequest } from '../frames/frame.ts';
import type { FrameOutput, WaitingStream } from '../frames/frame-output.ts';
import { checkTrailers, type RequestHead, responseBlock, statusLine } from '../frames/message-heads.ts';
import { ReceivingStream } from '../frames/session-receiver.ts';
import { isEnding, isReceiving, type StreamState, takesMore } from '../frames/stream-state.ts';
import type { Account, HeldBytes, Holder, Holding } from '../sockets/held-bytes.ts';

/** Writes a response as fast as its client takes it. */
export interface ResponseWriter {
  onRoom(): void;
  /** The exchange is over for the client, who may not have got all of it. */
  onGone(): void;
}

export interface StreamFollower {
  /** The head of the response was written; that of the request has only what is still needed. */
  onResponded?(): void;
  /** The response is whole; the client may not have taken all of it. Not told where the exchange ends before. */
  onEnded?(): void;
  onClosed(): void;
}

const noFollowers: readonly StreamFollower[] = [];

/** Bytes in the readable's own buffer. What exceeds it is queued, up to the stream's flow-control window. */
const readAhead = 16 * 1024;
/** A piece below this size is smaller than the object that holds it. Bytes. */
const tinyPiece = 256;

export class RequestContent extends Readable {
  readonly #held: HeldBytes;
  readonly #grant: (bytes: number) => void;
  readonly #queued = new PieceQueue();
  #queuedBytes = 0;
  #unread = 0;
  #isWanted = true;
  #isWhole = false;

  constructor(held: HeldBytes, grant: (bytes: number) => void) {
    super({ highWaterMark: readAhead });
    this.#held = held;
    this.#grant = grant;
  }

  /** Queues a piece for `deliver`. @param piece copied */
  receive(piece: Uint8Array): void {
    if (this.destroyed) return;
    this.#queued.add(piece);
    this.#queuedBytes += piece.length;
    this.#unread += piece.length;
    this.#held.add(piece.length);
  }

  receiveEnd(): void {
    this.#isWhole = true;
  }

  /**
   * Passes on what one read of the connection brought, in few pieces: of one byte each, each would take a hundred times its
   * memory. So tiny pieces are gathered in the queue while there is something to read.
   */
  deliver(): void {
    if (this.#isWhole || this.#queuedBytes >= tinyPiece || this.readableLength === 0) this.#passOn();
  }

  #passOn(): void {
    if (this.destroyed || this.readableEnded) return;
    while (this.#isWanted) {
      const piece = this.#queued.take();
      if (piece === undefined) break;
      this.#queuedBytes -= piece.length;
      this.#isWanted = this.push(piece);
    }
    this.#countRead();
    if (this.#isWhole && this.#queued.isEmpty) {
      this.#isWhole = false;
      this.push(null);
    }
  }

  #countRead(): void {
    if (this.destroyed) return;
    const unread = this.#queuedBytes + this.readableLength;
    const read = this.#unread - unread;
    if (read <= 0) return;
    this.#unread = unread;
    this.#held.add(-read);
    this.#grant(read);
  }

  /** The stream's reader takes what is there: what was gathered, too. With 0 the stream asks for itself. */
  override read(size?: number): unknown {
    if (size !== 0) this.#passOn();
    const piece: unknown = super.read(size);
    this.#countRead();
    return piece;
  }

  override _read(): void {
    this.#isWanted = true;
    this.deliver();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#queued.clear();
    this.#queuedBytes = 0;
    this.#held.add(-this.#unread);
    this.#unread = 0;
    callback(error);
  }
}

export interface StreamConnection {
  readonly socket: TLSSocket;
  readonly output: FrameOutput;
  readonly account: Account;
  readonly windowGrowth: WindowGrowth;
  /** A piece of content was received: `deliver` is called once after all that the same read brought. */
  contentReceived(content: RequestContent): void;
  /** @param awaitsFrames the client may have sent more on it */
  streamClosed(stream: ServerStream, awaitsFrames: boolean): void;
  respondedEarly(stream: ServerStream): void;
  clientCausedReset(): void;
  close(): void;
}

interface ServerStreamOptions {
  readonly id: number;
  readonly connection: StreamConnection;
  readonly head: RequestHead;
  readonly headBytes: number;
  readonly endStream: boolean;
  readonly receiveWindow: number;
  readonly sendWindow: number;
}

/**
 * A request as it was received, and a stream for its response: `incoming` of a fetch handler's bindings, for handlers
 * that need more than the web `Request`. A handler that writes its response here returns `RESPONSE_ALREADY_SENT`.
 */
export type IncomingStream = ServerStream;

/** One request and its response on a connection (RFC 9113 section 5). */
export class ServerStream extends ReceivingStream implements WaitingStream, Holder {
  readonly id: number;
  /** Once the response has begun it has no header lines but `User-Agent`. */
  head: RequestHead;
  readonly sendWindow: SendWindow;
  #writer: ResponseWriter | undefined;
  status: number | undefined;
  readonly #connection: StreamConnection;
  #content: RequestContent | undefined;
  #followers: StreamFollower | StreamFollower[] | undefined;
  #queued: PieceQueue | undefined;
  #headBytes: number;
  #held: Holding | undefined;

  constructor(options: ServerStreamOptions) {
    const { id, connection, head, endStream } = options;
    super(
      connection.output,
      endStream ? 'half-closed (remote)' : 'open',
      endStream ? undefined : new ReceiveWindow(options.receiveWindow, connection.windowGrowth),
    );
    this.id = id;
    this.#connection = connection;
    this.head = head;
    this.expectedLength = head.contentLength;
    this.#headBytes = options.headBytes;
    connection.account.add(options.headBytes);
    this.sendWindow = new SendWindow(options.sendWindow);
  }

  get socket(): TLSSocket {
    return this.#connection.socket;
  }

  get hasContent(): boolean {
    return this.window !== undefined;
  }

  get receiveWindow(): number {
    return this.window?.left ?? 0;
  }

  /** Counts what a handler holds for this request elsewhere. Beyond the budget the stream is reset. */
  get held(): Holding {
    this.#held ??= this.#connection.account.content(this);
    if (this.isClosed) this.#held.end();
    return this.#held;
  }

  giveUp(): void {
    this.#reset(errorCode.enhanceYourCalm);
  }

  get hasQueuedContent(): boolean {
    return this.#queued?.isEmpty === false;
  }

  /** The content, for one reader. Destroyed early when the client resets the stream or has its response. */
  get content(): Readable {
    return this.#received;
  }

  get #received(): RequestContent {
    if (this.#content === undefined) {
      this.#content = new RequestContent(this.held, (bytes) => this.grant(bytes));
      // A late reader must see that it ended early.
      if (this.isClosed) this.#content.destroy();
    }
    return this.#content;
  }

  follow(follower: StreamFollower): void {
    if (this.isClosed) follower.onClosed();
    else if (this.#followers === undefined) this.#followers = follower;
    else this.#followers = [this.#followers, follower].flat();
  }

  /** @param writer is told when there is room for more, and of the end if it is not released before */
  attach(writer: ResponseWriter): void {
    if (this.isClosed) writer.onGone();
    else this.#writer = writer;
  }

  release(): void {
    this.#writer = undefined;
  }

  get hasBegun(): boolean {
    return this.status !== undefined;
  }

  /** The whole response was sent; the client may not have read it yet. */
  get isResponseSent(): boolean {
    return this.state === 'closed';
  }

  /** False for a response that has no content, whatever its handler writes (RFC 9110 section 6.4.1). */
  get takesContent(): boolean {
    return this.head.method !== 'HEAD' && (this.status === undefined || hasContent(this.status));
  }

  closeConnection(): void {
    this.#connection.close();
  }

  /** Sends an interim response (RFC 9110 section 15.2). @param status from 100 to 199 */
  respondInterim(status: number): void {
    if (this.isClosed || this.status !== undefined) return;
    this.output.headers(this.id, statusLine(status), false);
  }

  /**
   * Writes the head of the response, without connection-specific lines and with a `date`.
   * @param status 200 or more
   * @throws {TypeError} if the head is invalid or was written before; nothing was written then.
   */
  respond(status: number, headers: HeaderLines): void {
    // A time-out may have responded while the handler is still working.
    if (this.status !== undefined) throw new TypeError('the response has begun already');
    const block = responseBlock(status, headers);
    if (this.isClosed) return;
    this.status = status;
    this.output.headers(this.id, block, false);
    this.head = { ...this.head, headers: linesForLogs(this.head.headers) };
    this.#countHead(this.head.target.length);
    for (const follower of this.#followerList) follower.onResponded?.();
  }

  get #followerList(): readonly StreamFollower[] {
    const followers = this.#followers;
    if (followers === undefined) return noFollowers;
    return Array.isArray(followers) ? followers : [followers];
  }

  #countHead(bytes: number): void {
    if (bytes >= this.#headBytes) return;
    this.#connection.account.add(bytes - this.#headBytes);
    this.#headBytes = bytes;
  }

  /**
   * Writes content, if the response has any.
   * @param piece copied before it returns
   * @returns false when the client is slower: wait for the writer's `onRoom`. More that is written is kept nevertheless.
   * @throws {TypeError} before the head
   */
  write(piece: Uint8Array): boolean {
    if (!takesMore(this.state)) return true;
    if (this.status === undefined) throw new TypeError('the head of the response must be written first');
    if (!this.takesContent) return true;
    const { output } = this;
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
    if (!takesMore(this.state)) return;
    if (this.status === undefined) throw new TypeError('the head of the response must be written first');
    this.change('message whole');
    for (const follower of this.#followerList) follower.onEnded?.();
    const { output } = this;
    // While the client does not read, its streams stay open: the limit of streams bounds what waits for it.
    if (output.needsDrain) output.wait(this);
    else if (!this.hasQueuedContent) this.#finish();
  }

  proceed(): void {
    const { output } = this;
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
    if (this.isClosed) return;
    output.stopWaiting(this);
    if (isEnding(this.state)) this.#finish();
    else this.#writer?.onRoom();
  }

  windowWidened(): void {
    if (this.hasQueuedContent) this.proceed();
  }

  reset(code: number): void {
    if (this.isClosed) return;
    this.#reset(code);
    this.#connection.clientCausedReset();
  }

  /** Resets the stream (RST_STREAM): the client must not take a part for the whole response. */
  breakOff(): void {
    this.#reset(errorCode.internalError);
  }

  #reset(code: number): void {
    if (this.isClosed) return;
    this.output.reset(this.id, code);
    this.change('reset');
  }

  resetByPeer(): void {
    this.change('message received');
    this.change('reset');
  }

  abandon(): void {
    this.change('reset');
  }

  receiveTrailers(decoded: readonly string[], endStream: boolean): void {
    if (!endStream) throw malformedRequest('its trailers do not end the stream');
    // They are dropped: Kubernetes uses none.
    checkTrailers(decoded);
    this.receiveEnd();
  }

  protected malformed(_reason: string, code: number = errorCode.protocolError): void {
    this.reset(code);
  }

  protected takeContent(piece: Uint8Array): void {
    this.#received.receive(piece);
    this.#connection.contentReceived(this.#received);
  }

  protected takeEnd(): void {
    this.change('message received');
    this.#received.receiveEnd();
    this.#connection.contentReceived(this.#received);
  }

  #finish(): void {
    this.output.endStream(this.id);
    this.change('END_STREAM sent');
    if (this.isClosed) return;
    this.#connection.respondedEarly(this);
    this.change('rest given up');
  }

  protected closed(before: StreamState): void {
    this.#queued?.clear();
    this.#held?.end();
    this.#countHead(0);
    this.output.stopWaiting(this);
    if (this.#content?.readableEnded === false) this.#content.destroy();
    const writer = this.#writer;
    const followers = this.#followerList;
    this.#writer = undefined;
    this.#followers = undefined;
    this.#connection.streamClosed(this, isReceiving(before));
    for (const follower of followers) follower.onClosed();
    writer?.onGone();
  }
}
