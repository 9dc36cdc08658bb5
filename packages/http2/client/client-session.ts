import type { OnReadOpts } from 'node:net';
import type { Duplex } from 'node:stream';
import {
  type ClosedState,
  connectionError,
  errorCode,
  errorCodeName,
  type FrameRules,
  frameFlag,
  frameHead,
  frameType,
  Http2Error,
  ignore,
  initialConnectionWindow,
  initialSettings,
  malformedResponse,
  maximumWindow,
  onAnyStream,
  onConnection,
  preface,
  protocolError,
  type Settings,
  settingsFrame,
  take,
  uint32,
} from '../frames/frame.ts';
import { FrameOutput } from '../frames/frame-output.ts';
import type { ReceivedHeaders } from '../frames/frame-reader.ts';
import { LeakyBucket } from '../frames/leaky-bucket.ts';
import { headSize, requestBlock } from '../frames/message-heads.ts';
import { type ReceivingSession, SessionReceiver } from '../frames/session-receiver.ts';
import { handleInput, type PieceWriter } from '../sockets/gathered-writes.ts';
import { resetConnection } from '../sockets/reset-connection.ts';
import {
  asError,
  type ClientLimits,
  type ClientRequest,
  ClientStream,
  RequestUpload,
  type StreamConnection,
  type StreamListener,
} from './client-stream.ts';

interface ClientSessionEvents {
  /** Another request may find room: a stream was closed, the server's settings came, or it has read what waited for it. */
  onRoom(): void;
  onGoAway(): void;
  /** The connection was given up: the server sent nothing on it, no acknowledgement of a PING either. `onClosed` follows. */
  onSilence(): void;
  onDraining(session: ClientSession): void;
  onClosed(session: ClientSession): void;
}

interface SessionSocket extends Duplex {
  readonly bytesRead: number;
  destroySoon(): void;
}

export const defaultClientLimits: ClientLimits = {
  streamWindow: 64 * 1024,
  windowGrowth: { maximum: 256 * 1024, hasRoomFor: () => true },
  maximumHeaderLines: 4_096,
  maximumHeaderBytes: 64 * 1024,
};

/** Bytes of the head of a request, whatever more the server announces. */
const maximumRequestHead = 1024 * 1024;

export interface ClientSessionOptions {
  readonly socket: SessionSocket;
  readonly inbox: ConnectionInbox;
  readonly authority: string;
  readonly maximumStreams: number;
  readonly limits: ClientLimits;
  readonly events: ClientSessionEvents;
}

export { Http2Error };

export class RequestHeadTooLargeError extends Error {
  override readonly name = 'RequestHeadTooLargeError';
  readonly code = 'ERR_HTTP2_REQUEST_HEAD_TOO_LARGE';

  constructor(size: number, maximum: number) {
    super(`a request head of ${size} bytes exceeds the ${maximum} bytes that this server accepts`);
  }
}

const readBuffer = Buffer.allocUnsafeSlow(64 * 1024);

/**
 * Receives the bytes of one connection. All connections share one buffer: its bytes are handled or copied before anything
 * else is read.
 */
export class ConnectionInbox {
  /** Is called with bytes that are overwritten as soon as it returns. */
  take: (bytes: Buffer) => void = () => {};

  readonly onread: OnReadOpts = {
    buffer: readBuffer,
    callback: (length) => {
      handleInput(this.take, readBuffer.subarray(0, length));
      return true;
    },
  };
}

/**
 * For frames on streams that we opened. A request that we cancelled is forgotten at once: what the server still sends
 * crossed our RST_STREAM (RFC 9113 section 5.1, "closed").
 */
const onOurStreams = onAnyStream(ignore, {
  connection: protocolError,
  idle: protocolError,
  open: take,
  'half-closed': take,
});

/**
 * The effect of each frame of a server. No budget counts these frames: we dialled the server and verified its
 * certificate, and all that the server makes us write or buffer is bounded elsewhere (docs/reference/limits.md).
 */
export const serverFrameRules: FrameRules = {
  DATA: onOurStreams,
  'DATA with little content': onOurStreams,
  'DATA without content or end': onOurStreams,
  'HEADERS of a message': onOurStreams,
  'HEADERS of trailers': onOurStreams,
  'CONTINUATION of nothing': onAnyStream(protocolError),
  PRIORITY: onAnyStream(ignore, { connection: protocolError }),
  RST_STREAM: onOurStreams,
  SETTINGS: onConnection(take),
  'SETTINGS that acknowledge': onConnection(ignore),
  // Our settings disable push (RFC 9113 section 8.4).
  PUSH_PROMISE: onAnyStream(protocolError),
  PING: onConnection(take),
  'PING that acknowledges': onConnection(ignore),
  GOAWAY: onConnection(take),
  WINDOW_UPDATE: { ...onOurStreams, connection: take },
  'of an unknown type': onAnyStream(ignore),
};

/** Identifiers cannot be used twice, and end at 2³¹−1 (RFC 9113 section 5.1.1). */
const lastStreamId = 0x7fff_ffff;
/**
 * SETTINGS_MAX_FRAME_SIZE for servers. With the default of 16 KiB a list of 10 MB takes a quarter more CPU
 * (lab/bench/README.md).
 */
const maximumFrameSize = 256 * 1024;
/** Bytes that may wait for a server that does not read, beyond two buffers of 128 KiB: 128 MiB for one with 256 connections. */
const maximumUnread = 256 * 1024;
/** For the server to read the GOAWAY before an idle connection is closed. */
const goAwayTimeout = 5_000;

/**
 * Since the rapid reset attack (CVE-2023-44487) servers end a connection with too many resets, and with it the watches of
 * other clients. Node's servers allow 1,000 at once and 33 per second (nghttp2's `stream_reset_rate_limit`). We stop using
 * a connection at half of that, which leaves room for the resets of the streams that are still open then.
 */
const resets = { burst: 500, perSecond: 16 };

/**
 * Bytes of a request head for a server that announces no SETTINGS_MAX_HEADER_LIST_SIZE. A Node server rejects a line of
 * 66,000 bytes (measured; it accepts 65,500) with a connection error (RFC 9113 section 4.3), which ends all other streams.
 * Go's servers announce a limit of 1 MiB and some (`maxHeaderListSize` in golang.org/x/net/http2/server.go).
 */
const unannouncedMaximumHead = 64 * 1024;

/** The client's side of one HTTP/2 connection (RFC 9113), without server push. */
export class ClientSession implements ReceivingSession<ClientStream>, StreamConnection {
  readonly output: FrameOutput;
  readonly #options: ClientSessionOptions;
  readonly #receiver: SessionReceiver<ClientStream>;
  /** How often the socket was written to. What was gathered since the last time has not been sent. */
  #writes = 0;
  readonly #settingsReceived = Promise.withResolvers<void>();
  readonly #resets = new LeakyBucket(resets);
  readonly #stopMonitoring: () => void;
  #nextStreamId = 1;
  #isDraining = false;
  #goAwaySent = false;
  #error: Error | undefined;

  constructor(options: ClientSessionOptions) {
    const { socket, inbox, maximumStreams } = options;
    const { streamWindow, windowGrowth, maximumHeaderLines, maximumHeaderBytes } = options.limits;
    // With the initial connection window of 64 KiB one slow reader would starve the others (kubernetes#67902).
    const connectionWindow = Math.min(
      (windowGrowth?.maximum ?? streamWindow) * maximumStreams,
      maximumWindow,
    );
    this.#options = options;
    this.#settingsReceived.promise.catch(() => {});
    const writer: PieceWriter = {
      write: (bytes, onWritten) => {
        if (!socket.writable) return false;
        this.#writes++;
        return socket.write(bytes, onWritten);
      },
    };
    this.output = new FrameOutput(writer, {
      onRoom: () => options.events.onRoom(),
      onFailure: (error) => this.#fail(error),
    });
    const limits = {
      maximumLines: maximumHeaderLines,
      maximumSize: maximumHeaderBytes,
      // A head that is too large ends its own stream only, not the watches on the same connection.
      maximumBlock: 16 * maximumHeaderBytes,
    };
    this.#receiver = new SessionReceiver(this, {
      peer: 'server',
      window: connectionWindow,
      limits,
      rules: serverFrameRules,
      output: this.output,
      maximumFrameSize,
    });
    const settings = settingsFrame(
      ['enablePush', 0],
      ['initialWindowSize', streamWindow],
      ['maxFrameSize', maximumFrameSize],
      ['maxHeaderListSize', maximumHeaderBytes],
    );
    this.output.write(preface + settings);
    this.output.windowUpdate(0, connectionWindow - initialConnectionWindow);
    inbox.take = this.#received;
    socket.on('error', (error) => {
      this.#error ??= error;
    });
    socket.on('end', () => socket.destroy());
    socket.on('close', () => this.#closed());
    this.#stopMonitoring = monitorSilence({
      bytesRead: () => socket.bytesRead,
      // A watch may be quiet for long. A live server acknowledges the PING, which counts as received bytes.
      onQuiet: () => (this.streams === 0 ? this.close() : this.ping()),
      onDead: () => {
        this.destroy(new Error('the server sent nothing for too long'));
        options.events.onSilence();
      },
    });
  }

  /**
   * Waits for the server's settings. Before them nothing is sent: a request beyond the server's limits would be refused,
   * and an upload cannot be sent again (RFC 9113 section 8.7). They arrive with the end of the handshake. With TLS 1.3
   * they are the first sign that the server accepted our certificate, so a connection that fails earlier has sent nothing.
   *
   * @param timeout milliseconds
   * @throws if they do not arrive, or the server closes the connection meanwhile
   */
  async ready(timeout: number): Promise<void> {
    const timer = setTimeout(() => {
      const late = new Error(`no HTTP/2 settings within ${timeout} ms`);
      this.destroy(Object.assign(late, { code: 'ETIMEDOUT' }));
    }, timeout);
    try {
      await this.#settingsReceived.promise;
    } finally {
      clearTimeout(timer);
    }
    if (this.#isDraining) throw new Error('the server is closing the connection');
  }

  get serverSettings(): Settings | undefined {
    return this.#receiver.settings;
  }

  get streams(): number {
    return this.#receiver.streams.size;
  }

  /** The largest request head that may be sent, in bytes as RFC 9113 section 6.5.2 counts them. */
  get maximumHeadSize(): number {
    const announced = this.serverSettings?.maxHeaderListSize ?? Number.POSITIVE_INFINITY;
    const accepted = announced === Number.POSITIVE_INFINITY ? unannouncedMaximumHead : announced;
    return Math.min(accepted, maximumRequestHead);
  }

  /** True if a request may be sent; otherwise none may be sent before `onRoom`. */
  get hasRoom(): boolean {
    const theirs = this.serverSettings?.maxConcurrentStreams ?? 0;
    return this.isOpen && !this.isFull && this.streams < Math.min(theirs, this.#options.maximumStreams);
  }

  get isFull(): boolean {
    const { unread, unreadHeads, unreadContent } = this.output;
    return unread + unreadHeads + unreadContent > maximumUnread;
  }

  get isOpen(): boolean {
    return !this.#isDraining && this.#options.socket.writable && this.#nextStreamId <= lastStreamId;
  }

  /**
   * @throws if the session is not open, or the request is invalid, too large or not wanted any more: nothing was sent then.
   */
  request(request: ClientRequest, listener: StreamListener): ClientStream {
    if (!this.isOpen) throw new Error('the connection accepts no more requests');
    const { method, target, headers } = request;
    const { authority, limits } = this.#options;
    const size = headSize(method, target, authority, headers);
    const maximum = this.maximumHeadSize;
    if (size > maximum) throw new RequestHeadTooLargeError(size, maximum);
    const block = requestBlock(method, target, authority, headers);
    const sendWindow = (this.#receiver.settings ?? initialSettings).initialWindowSize;
    const stream = new ClientStream({ connection: this, request, listener, limits, sendWindow });
    listener.begun(stream);
    // The listener may have aborted it, ended the connection, or sent another one.
    if (stream.isClosed || !this.isOpen) throw new Error('the request was aborted before it was written');
    const content = request.takeContent === undefined ? request.content : request.takeContent();
    stream.opened(this.#nextStreamId, content !== undefined);
    stream.gatheredAt = this.#writes;
    this.output.headers(stream.id, block, content === undefined);
    this.#nextStreamId += 2;
    this.#receiver.streams.add(stream);
    if (content !== undefined) {
      stream.upload = new RequestUpload(this.output, stream, content);
      stream.upload.proceed();
    }
    return stream;
  }

  ping(): void {
    this.output.write(frameHead(8, frameType.ping, frameFlag.none, 0) + uint32(0) + uint32(0));
  }

  close(): void {
    this.#drain();
    if (this.streams === 0) this.#end();
  }

  /** Nothing that waits to be sent arrives any more: a request whose client was told that it failed is not carried out later. */
  destroy(error: Error): void {
    this.#stop(error);
    resetConnection(this.#options.socket);
  }

  #stop(error: Error): void {
    this.#drain();
    this.#error ??= error;
    this.#receiver.stop();
  }

  streamClosed(stream: ClientStream, code: number): void {
    this.#receiver.streams.delete(stream.id);
    // Resets of both sides, which cannot be told apart: at worst that costs a connection.
    if (code !== errorCode.noError && !this.#resets.add()) this.#drain();
    if (this.#isDraining && this.streams === 0) this.#end();
    this.#options.events.onRoom();
  }

  #drain(): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    this.#options.events.onDraining(this);
  }

  #end(): void {
    if (this.#goAwaySent) return;
    this.#sendGoAway(errorCode.noError);
    const { socket } = this.#options;
    socket.destroySoon();
    // `destroySoon` waits for ever if the server does not read.
    const timer = setTimeout(() => socket.destroy(), goAwayTimeout).unref();
    socket.once('close', () => clearTimeout(timer));
  }

  readonly #received = (bytes: Buffer): void => {
    try {
      this.#receiver.receive(bytes);
      if (this.output.unread > maximumUnread)
        throw connectionError(errorCode.enhanceYourCalm, 'the server does not read what it is sent');
    } catch (error) {
      this.#fail(error);
    }
  };

  #fail(error: unknown): void {
    this.#sendGoAway(error instanceof Http2Error ? error.errorCode : errorCode.internalError);
    this.#stop(asError(error));
    // In order: a reset could overtake the GOAWAY.
    this.#options.socket.destroy();
  }

  stateOf(streamId: number): ClosedState {
    return streamId % 2 === 0 || streamId >= this.#nextStreamId ? 'idle' : 'closed by us';
  }

  headersReceived(
    { lines, endStream, exceedLimits }: ReceivedHeaders,
    stream: ClientStream | undefined,
  ): void {
    if (stream === undefined) return;
    if (exceedLimits) throw malformedResponse('its head is too large', errorCode.enhanceYourCalm);
    stream.receiveLines(lines, endStream);
  }

  /** Nothing that a server sends is counted (`serverFrameRules`), and a server opens no streams. */
  count(): void {}
  refuseStream(): void {}

  settingsReceived(): void {
    this.#settingsReceived.resolve();
    this.#options.events.onRoom();
  }

  goAwayReceived(lastProcessed: number, code: number): void {
    // With this the streams up to `lastProcessed` fail if the connection ends before they do.
    if (code !== errorCode.noError) {
      this.#error ??= new Http2Error(
        'connection',
        code,
        `the server ended the connection (${errorCodeName(code)})`,
      );
    }
    this.#options.events.onGoAway();
    this.close();
    const unprocessed =
      this.#error ?? new Http2Error('stream', errorCode.noError, 'the server is closing the connection');
    for (const stream of this.#receiver.streams.all()) {
      if (stream.id > lastProcessed) {
        stream.fail(unprocessed, { code: errorCode.refusedStream, refused: true });
      }
    }
  }

  #sendGoAway(code: number): void {
    if (this.#goAwaySent) return;
    this.#goAwaySent = true;
    // 0: without push the server has no streams.
    this.output.goAway(0, code);
    this.output.flush();
  }

  #closed(): void {
    this.#stopMonitoring();
    this.#receiver.stop();
    const error = this.#error ?? new Error('the connection was closed');
    for (const stream of this.#receiver.streams.all()) {
      // The server cannot have processed a head that was never written to the socket.
      const refused = stream.gatheredAt === this.#writes;
      stream.fail(error, { code: errorCode.internalError, refused });
    }
    this.#settingsReceived.reject(error);
    this.#drain();
    this.#options.events.onClosed(this);
  }
}

const checkInterval = 15_000;
/** Checks without a byte before the peer is pinged: at least 30 s, as Go's client does. */
const checksUntilQuiet = 2;
const checksUntilDead = 3;

interface SilenceListener {
  bytesRead(): number;
  /** Nothing was received for 30 to 45 seconds: ping the peer, or close the connection. */
  onQuiet(): void;
  onDead(): void;
}

/**
 * Detects a peer that is gone without closing the connection, after a power cut or by a firewall rule. Only received
 * bytes count (Go's `ReadIdleTimeout`). Node's session time-out also restarts with sent bytes: requests to a dead server
 * would keep the connection and its watches for as long as the kernel retransmits (15 minutes). It also resets a timer
 * with each event of a watch; this compares a counter.
 *
 * @returns stops it
 */
export function monitorSilence(listener: SilenceListener): () => void {
  let lastRead = listener.bytesRead();
  let quietChecks = 0;
  const timer = setInterval(() => {
    const read = listener.bytesRead();
    quietChecks = read === lastRead ? quietChecks + 1 : 0;
    lastRead = read;
    if (quietChecks === checksUntilQuiet) listener.onQuiet();
    else if (quietChecks >= checksUntilDead) listener.onDead();
  }, checkInterval);
  timer.unref();
  return () => clearInterval(timer);
}
