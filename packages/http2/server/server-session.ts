import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { headMemory } from '../fields/header-fields.ts';
import type { WindowGrowth } from '../frames/flow-control.ts';
import {
  type Budget,
  type ClosedState,
  connectionError,
  errorCode,
  Http2Error,
  initialConnectionWindow,
  initialSettings,
  malformedRequest,
  maximumWindow,
  settingsFrame,
} from '../frames/frame.ts';
import { FrameOutput } from '../frames/frame-output.ts';
import { Preface, type ReceivedHeaders } from '../frames/frame-reader.ts';
import { parseRequestHead, type RequestHead, unreadHead } from '../frames/message-heads.ts';
import { type ReceivingSession, SessionReceiver } from '../frames/session-receiver.ts';
import { handleInput } from '../sockets/gathered-writes.ts';
import type { Account, Holder, Holding } from '../sockets/held-bytes.ts';
import { type AddressResets, ClientBudgets, clientFrameRules } from './client-budgets.ts';
import { type RequestContent, ServerStream, type StreamConnection } from './server-stream.ts';

export interface Http2ServerLimits {
  /** Concurrent requests on one connection. Default 100, as in Go's servers since CVE-2023-44487. */
  readonly maxConcurrentStreams: number;
  /** Requests refused beyond it, as a burst (one a second is forgiven), before the connection ends. Default 100. */
  readonly maxSessionRejectedStreams: number;
  /** Flow-control window of one request at its begin, in bytes. Default 64 KiB. */
  readonly streamWindow: number;
  /** To which it grows while its content is taken and there is memory for it. Default 256 KiB. */
  readonly maximumStreamWindow: number;
  /**
   * Header lines of one request. Default 4,096, enough for a user in 1,000 groups. Node allows 128 on HTTP/2 (measured: 124
   * X-Remote-Group lines pass) and 1,000 on HTTP/1.1.
   */
  readonly maximumHeaderLines: number;
  /**
   * Bytes of the header lines of one request, with 32 more for each line (RFC 9113 section 6.5.2). Default 1 MiB, as in
   * Go's servers. Node allows 16 KiB (measured: 400 at 1,000 groups, 431 at 1,990).
   */
  readonly maximumHeaderBytes: number;
  /**
   * The same for clients that have shown no verified certificate. A few hundred bytes of HPACK can stand for any head
   * (CVE-2016-6581). Default 64 KiB.
   */
  readonly unverifiedHeaderBytes: number;
  /** Milliseconds from the first byte of a head or a frame to its last. Default 10,000. */
  readonly headerBlockTimeout: number;
  /**
   * Milliseconds that an idle connection is kept, or up to a quarter more. Default 90,000, as in kube-apiserver: load
   * balancers keep theirs for longer than Node's 5,000, and would send requests on one that is being closed.
   */
  readonly keepAliveTimeout: number;
}

export const defaultHttp2ServerLimits: Http2ServerLimits = {
  maxConcurrentStreams: 100,
  maxSessionRejectedStreams: 100,
  streamWindow: 64 * 1024,
  maximumStreamWindow: 256 * 1024,
  maximumHeaderLines: 4_096,
  maximumHeaderBytes: 1024 * 1024,
  unverifiedHeaderBytes: 64 * 1024,
  headerBlockTimeout: 10_000,
  keepAliveTimeout: 90_000,
};

export interface ServerSessionHost {
  readonly limits: Http2ServerLimits;
  readonly addresses: AddressResets;
  /** For what is held for the connection. */
  account(socket: TLSSocket, connection: Holder): Account;
  /** A request was received whose head is too large; only its method is known. */
  headTooLarge(stream: ServerStream): void;
  requested(stream: ServerStream): void;
  failed(error: unknown): void;
}

/** Streams that are remembered: more than a connection may have open. */
const remembered = 256;

/**
 * Record of a client's streams that are not open (RFC 9113 section 5.1): the highest identifier, and the latest streams
 * that we closed before the client ended its message. Frames in transit still arrive on those, with as much content as
 * the stream's window allowed.
 */
export class ClosedStreams {
  readonly #givenUp = new Map<number, number>();
  #lastId = 0;
  isGoAwaySent = false;

  get lastId(): number {
    return this.#lastId;
  }

  stateOf(streamId: number): ClosedState {
    // Only servers open even ones, and we open none.
    if (streamId % 2 === 0) return 'idle';
    if (streamId > this.#lastId) return this.isGoAwaySent ? 'after our GOAWAY' : 'idle';
    return this.#givenUp.has(streamId) ? 'closed by us' : 'closed';
  }

  /** The client used a new identifier. @throws {Http2Error} RFC 9113 section 5.1.1 */
  opened(streamId: number): void {
    if (streamId % 2 === 0)
      throw connectionError(errorCode.protocolError, 'a client must use odd stream identifiers');
    this.#lastId = streamId;
  }

  giveUp(streamId: number, window: number): void {
    this.#givenUp.set(streamId, window);
    const [oldest] = this.#givenUp.keys();
    if (this.#givenUp.size > remembered && oldest !== undefined) this.#givenUp.delete(oldest);
  }

  receive(streamId: number, bytes: number): void {
    const left = this.#givenUp.get(streamId);
    if (left === undefined) return;
    if (left < bytes) this.#givenUp.delete(streamId);
    else this.#givenUp.set(streamId, left - bytes);
  }
}

/**
 * Ends a connection after its last bytes. Until the client closes its side, the caller must keep reading and discard
 * what it reads: a socket that is closed with unread data sends a TCP reset, on which the client loses what it has not
 * read yet (RFC 9112 section 9.6 says so of HTTP/1.1).
 * @param timeout milliseconds without progress after which the connection is destroyed; twice as many at most
 */
function lingeringClose(socket: Duplex, timeout: number): void {
  socket.end();
  let left = Number.POSITIVE_INFINITY;
  const timer = setInterval(() => {
    if (socket.writableLength >= left) socket.destroy();
    left = socket.writableLength;
  }, timeout).unref();
  socket.once('close', () => clearInterval(timer));
}

/**
 * Between an early response and the RST_STREAM that stops the rest of its request (RFC 9113 section 8.1). If both arrive
 * in one read, curl reports the response as broken.
 */
const resetDelayMilliseconds = 100;
/** Time for the client to read the last responses, or the GOAWAY after an error. */
const lingerMilliseconds = { responses: 5_000, error: 500 } as const;

/** The server's side of one HTTP/2 connection (RFC 9113), without server push. */
export class ServerSession implements ReceivingSession<ServerStream>, StreamConnection, Holder {
  readonly socket: TLSSocket;
  readonly output: FrameOutput;
  readonly account: Account;
  readonly windowGrowth: WindowGrowth;
  readonly #host: ServerSessionHost;
  readonly #preface = new Preface();
  readonly #receiver: SessionReceiver<ServerStream>;
  readonly #budgets: ClientBudgets;
  readonly #closedStreams = new ClosedStreams();
  readonly #unread: Holding;
  #unfinished: object | undefined;
  #unfinishedHead: Holding | undefined;
  #unfinishedFor = 0;
  #idleFor = 0;
  #usedAt = performance.now();
  #goAwayReceived = false;
  #isEnding = false;
  #received: RequestContent[] = [];

  constructor(socket: TLSSocket, host: ServerSessionHost) {
    this.socket = socket;
    this.#host = host;
    const { maxConcurrentStreams, maxSessionRejectedStreams, maximumHeaderLines } = host.limits;
    const { streamWindow, maximumStreamWindow } = host.limits;
    this.account = host.account(socket, this);
    const { isVerified } = this.account;
    const maximumHeaderBytes = isVerified
      ? host.limits.maximumHeaderBytes
      : Math.min(host.limits.maximumHeaderBytes, host.limits.unverifiedHeaderBytes);
    this.#unread = this.account.content(this);
    this.windowGrowth = {
      maximum: maximumStreamWindow,
      hasRoomFor: (bytes) => this.account.hasRoomFor(bytes),
    };
    this.#budgets = new ClientBudgets({
      maximumRefused: maxSessionRejectedStreams,
      isVerified,
      address: socket.remoteAddress ?? '',
      addresses: host.addresses,
    });
    const listener = {
      onDataSent: (bytes: number) => this.#budgets.dataSent(bytes),
      onFailure: (error: unknown) => this.#fail(error),
    };
    this.output = new FrameOutput(socket, listener, this.#unread);
    // With the initial connection window of 64 KiB one slow upload would starve the others (kubernetes#67902). The
    // windows of the streams limit a client instead.
    const window = Math.min(maximumStreamWindow * maxConcurrentStreams, maximumWindow);
    const limits = { maximumLines: maximumHeaderLines, maximumSize: maximumHeaderBytes };
    this.#receiver = new SessionReceiver(this, {
      peer: 'client',
      window,
      limits,
      rules: clientFrameRules,
      output: this.output,
    });
    const settings = settingsFrame(
      ['maxConcurrentStreams', maxConcurrentStreams],
      ['initialWindowSize', streamWindow],
      ['maxHeaderListSize', maximumHeaderBytes],
    );
    this.output.write(settings);
    this.output.windowUpdate(0, window - initialConnectionWindow);
    this.#readFrom(socket);
    // A client that closes its side waits for no response; Go's server closes the connection as well.
    socket.on('end', () => socket.destroy());
    socket.on('error', () => {});
    socket.on('close', () => this.#closed());
  }

  /** Sends GOAWAY; the connection ends after the requests in flight (RFC 9113 section 6.8). */
  close(): void {
    this.#sendGoAway(errorCode.noError);
    this.#endIfUnused();
  }

  /** Ends a connection with a late head, or without a request for too long. @param passed milliseconds since the last check */
  checkTimeouts(passed: number): void {
    const { headerBlockTimeout, keepAliveTimeout } = this.#host.limits;
    this.#unfinishedFor = this.#unfinished === undefined ? 0 : this.#unfinishedFor + passed;
    this.#idleFor = this.#receiver.streams.size > 0 ? 0 : this.#idleFor + passed;
    if (this.#unfinishedFor > headerBlockTimeout) this.giveUp('a request head did not end in time');
    else if (this.#idleFor > keepAliveTimeout) this.close();
  }

  /** Milliseconds of `performance.now`; `undefined` while there is a request. */
  get restingSince(): number | undefined {
    return this.#receiver.streams.size > 0 ? undefined : this.#usedAt;
  }

  giveUp(reason: string): void {
    this.#fail(connectionError(errorCode.enhanceYourCalm, reason));
  }

  contentReceived(content: RequestContent): void {
    if (this.#received.at(-1) !== content) this.#received.push(content);
  }

  streamClosed(stream: ServerStream, awaitsFrames: boolean): void {
    this.#receiver.streams.delete(stream.id);
    if (awaitsFrames) this.#closedStreams.giveUp(stream.id, stream.receiveWindow);
    this.#idleFor = 0;
    this.#usedAt = performance.now();
    if (this.#closedStreams.isGoAwaySent || this.#goAwayReceived) this.#endIfUnused();
  }

  clientCausedReset(): void {
    this.#budgets.count('resets');
  }

  respondedEarly({ id }: ServerStream): void {
    setTimeout(() => {
      if (!this.#isEnding) this.output.reset(id, errorCode.noError);
    }, resetDelayMilliseconds).unref();
  }

  stateOf(streamId: number): ClosedState {
    return this.#closedStreams.stateOf(streamId);
  }

  headersReceived(headers: ReceivedHeaders, stream: ServerStream | undefined): void {
    const { streamId } = headers;
    if (stream !== undefined) {
      stream.receiveTrailers(headers.lines, headers.endStream);
      return;
    }
    this.#closedStreams.opened(streamId);
    try {
      this.#open(headers);
    } catch (error) {
      if (!(error instanceof Http2Error) || error.scope !== 'stream') throw error;
      this.#refused(headers);
      this.refuseStream(streamId, error.errorCode);
    }
  }

  count(budget: Budget): void {
    this.#budgets.count(budget);
  }

  lateDataReceived(streamId: number, bytes: number): void {
    this.#closedStreams.receive(streamId, bytes);
  }

  refuseStream(streamId: number, code: number): void {
    if (streamId > this.#closedStreams.lastId) this.#closedStreams.opened(streamId);
    this.output.reset(streamId, code);
    this.clientCausedReset();
  }

  goAwayReceived(): void {
    this.#goAwayReceived = true;
    this.#endIfUnused();
  }

  #open(headers: ReceivedHeaders): void {
    const { streamId, lines, endStream, exceedLimits } = headers;
    if (this.#receiver.streams.size >= this.#host.limits.maxConcurrentStreams) {
      this.#budgets.refused();
      this.#refused(headers);
      this.output.reset(streamId, errorCode.refusedStream);
      return;
    }
    if (exceedLimits) {
      // Reading it cost as much as a valid one.
      this.#budgets.count('resets');
      this.#host.headTooLarge(this.#newStream(streamId, endStream, unreadHead(lines)));
      return;
    }
    const head = parseRequestHead(lines);
    const headBytes = headMemory(head.target, head.headers);
    if (!this.account.admits(headBytes)) {
      // The client may send it again at once (RFC 9113 section 8.7), and is charged for nothing.
      this.#refused(headers);
      this.output.reset(streamId, errorCode.refusedStream);
      return;
    }
    // RFC 9113 section 8.1.1.
    if (endStream && (head.contentLength ?? 0) > 0)
      throw malformedRequest('it is shorter than its Content-Length');
    const stream = this.#newStream(streamId, endStream, head, headBytes);
    this.#budgets.requested();
    this.#host.requested(stream);
  }

  #refused({ streamId, endStream }: ReceivedHeaders): void {
    if (!endStream) this.#closedStreams.giveUp(streamId, this.#host.limits.streamWindow);
  }

  #newStream(id: number, endStream: boolean, head: RequestHead, headBytes = 0): ServerStream {
    const stream = new ServerStream({
      id,
      connection: this,
      head,
      headBytes,
      endStream,
      receiveWindow: this.#host.limits.streamWindow,
      sendWindow: (this.#receiver.settings ?? initialSettings).initialWindowSize,
    });
    this.#receiver.streams.add(stream);
    return stream;
  }

  /**
   * Takes the bytes where the socket would put them into its stream. Frames are handled at once and nothing is ever left in
   * the stream, whose events and ticks for each read cost a lone request a twentieth.
   */
  #readFrom(socket: TLSSocket): void {
    const read = this.#read;
    const push = socket.push.bind(socket);
    socket.push = (bytes: Buffer | null) => {
      if (bytes === null) return push(null);
      handleInput(read, bytes);
      return true;
    };
    socket.on('data', read);
  }

  readonly #read = (bytes: Buffer): void => {
    try {
      this.#receiver.receive(this.#preface.skip(bytes));
      const received = this.#received;
      if (received.length > 0) {
        this.#received = [];
        for (const content of received) content.deliver();
      }
      this.#budgets.leftUnread(this.output.unread + this.output.unreadHeads);
      this.#accountForUnfinished();
    } catch (error) {
      this.#fail(error);
    }
  };

  #accountForUnfinished(): void {
    const { unfinished, heldBytes } = this.#receiver;
    if (unfinished === undefined && this.#unfinished === undefined) return;
    this.#unfinishedHead ??= this.account.head(this);
    if (unfinished !== this.#unfinished) {
      // A different head has begun: the age of this connection's entry begins anew.
      this.#unfinishedHead.set(0);
      this.#unfinishedFor = 0;
    }
    this.#unfinishedHead.set(heldBytes);
    this.#unfinished = unfinished;
  }

  #sendGoAway(code: number): void {
    // After a GOAWAY without an error a second one still says why the connection ends (RFC 9113 section 5.4.1).
    if (this.#isEnding || (this.#closedStreams.isGoAwaySent && code === errorCode.noError)) return;
    this.#closedStreams.isGoAwaySent = true;
    this.output.goAway(this.#closedStreams.lastId, code);
  }

  #endIfUnused(): void {
    if (this.#receiver.streams.size === 0) this.#end('responses');
  }

  #fail(error: unknown): void {
    const isClientError = error instanceof Http2Error;
    if (!isClientError) this.#host.failed(error);
    this.#sendGoAway(isClientError ? error.errorCode : errorCode.internalError);
    this.#end('error');
    this.#abandonStreams();
  }

  #end(after: keyof typeof lingerMilliseconds): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    // A request that arrives from now on would get no response, so it must not be processed.
    this.#receiver.stop();
    this.#unfinishedHead?.end();
    this.output.flush();
    lingeringClose(this.socket, lingerMilliseconds[after]);
  }

  #abandonStreams(): void {
    for (const stream of this.#receiver.streams.all()) {
      try {
        stream.abandon();
      } catch (error) {
        this.#host.failed(error);
      }
    }
  }

  #closed(): void {
    this.#isEnding = true;
    this.#receiver.stop();
    this.#abandonStreams();
    this.account.close();
  }
}
