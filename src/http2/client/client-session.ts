import type { OnReadOpts, Socket } from 'node:net';
import type { Duplex, Readable } from 'node:stream';
import type { HeaderLines } from '../fields/header-fields.ts';
import type { WindowGrowth } from '../frames/flow-control.ts';
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
import { requestBlock } from '../frames/message-heads.ts';
import { onStream, type ReceivingSession, SessionReceiver } from '../frames/session-receiver.ts';
import { handleInput, type PieceWriter } from '../sockets/gathered-writes.ts';
import { ClientStream, RequestUpload, type StreamConnection, type StreamListener } from './client-stream.ts';

interface ClientSessionEvents {
  onSettings(): void;
  /** The server takes no new streams (RFC 9113 section 6.8). */
  onGoAway(): void;
  /** A stream was closed on the connection. @param code RFC 9113 section 7 */
  onStreamClosed(code: number): void;
  onRoom(): void;
  onClosed(error: Error): void;
}

interface SessionSocket extends Duplex {
  destroySoon(): void;
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
  /** Bytes of the head of a request. Default 1,048,576, or what the server announces if that is less. */
  readonly maximumRequestHead: number;
}

export const defaultClientLimits: ClientLimits = {
  streamWindow: 64 * 1024,
  windowGrowth: { maximum: 256 * 1024, hasRoomFor: () => true },
  maximumHeaderLines: 4_096,
  maximumHeaderBytes: 64 * 1024,
  maximumRequestHead: 1024 * 1024,
};

export interface ClientSessionOptions {
  /** Dialled with `inbox.onread`, for this session only. */
  readonly socket: SessionSocket;
  readonly inbox: ConnectionInbox;
  readonly authority: string;
  /** `maximumRequestHead` is the caller's to check. */
  readonly limits: Omit<ClientLimits, 'maximumRequestHead'>;
  readonly connectionWindow: number;
  readonly events: ClientSessionEvents;
}

export interface ClientRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderLines;
  /** A whole short body, or a stream that is read as fast as the server takes it. */
  readonly content: Uint8Array | Readable | undefined;
}

const readBuffer = Buffer.allocUnsafeSlow(64 * 1024);

/**
 * Receives the bytes of one connection. All connections share one buffer: its bytes are handled or copied before anything
 * else is read.
 */
export class ConnectionInbox {
  #take: (bytes: Buffer) => boolean = () => true;

  readonly onread: OnReadOpts = {
    buffer: readBuffer,
    callback: (length) => this.#take(readBuffer.subarray(0, length)),
  };

  /** @param take is called with bytes that are overwritten as soon as it returns */
  take(take: (bytes: Buffer) => void): void {
    this.#take = (bytes) => {
      take(bytes);
      return true;
    };
  }

  /** Makes the socket an ordinary stream again, for a library that reads it as one. */
  leaveTo(socket: Socket): void {
    // `push` returns false if the stream is full; its next read starts the socket again.
    this.#take = (bytes) => socket.push(Buffer.from(bytes));
  }
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
 * What each frame of a server does. No budget counts them: we dialled the server and verified its certificate, and what
 * it makes us write or buffer is bounded elsewhere (docs/reference/limits.md).
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
 * (bench/README.md).
 */
const maximumFrameSize = 256 * 1024;
/** Bytes that may wait for a server that does not read, beyond two buffers of 128 KiB: 128 MiB for one with 256 connections. */
const maximumUnread = 256 * 1024;
/** For the server to read the GOAWAY before an idle connection is closed. */
const goAwayTimeout = 5_000;

/** The client's side of one HTTP/2 connection (RFC 9113), without server push. */
export class ClientSession implements ReceivingSession<ClientStream>, StreamConnection {
  readonly output: FrameOutput;
  readonly #options: ClientSessionOptions;
  readonly #receiver: SessionReceiver<ClientStream>;
  /** How often the socket was written to. What was gathered since the last time has not been sent. */
  #writes = 0;
  #nextStreamId = 1;
  #goAwayReceived = false;
  #goAwaySent = false;
  #error: Error | undefined;

  constructor(options: ClientSessionOptions) {
    const { socket, inbox, connectionWindow } = options;
    const { streamWindow, maximumHeaderLines, maximumHeaderBytes } = options.limits;
    this.#options = options;
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
    const received = (bytes: Buffer) => this.#received(bytes);
    inbox.take((bytes) => handleInput(received, bytes));
    socket.on('error', (error) => {
      this.#error ??= error;
    });
    socket.on('end', () => socket.destroy());
    socket.on('close', () => this.#closed());
  }

  get serverSettings(): Settings | undefined {
    return this.#receiver.settings;
  }

  get streams(): number {
    return this.#receiver.streams.size;
  }

  /** The server does not read: no request may be sent before `onRoom`. */
  get isFull(): boolean {
    const { unread, unreadHeads, unreadContent } = this.output;
    return unread + unreadHeads + unreadContent > maximumUnread;
  }

  get isOpen(): boolean {
    const { socket } = this.#options;
    return (
      !this.#goAwayReceived && !this.#goAwaySent && socket.writable && this.#nextStreamId <= lastStreamId
    );
  }

  /**
   * @returns the stream, before any call of the listener
   * @throws if the session is not open, or the request is invalid; nothing was sent then.
   */
  request({ method, target, headers, content }: ClientRequest, listener: StreamListener): ClientStream {
    if (!this.isOpen) throw new Error('the connection accepts no more requests');
    const block = requestBlock(method, target, this.#options.authority, headers);
    const settings = this.#receiver.settings ?? initialSettings;
    const stream = new ClientStream({
      id: this.#nextStreamId,
      connection: this,
      listener,
      isHead: method === 'HEAD',
      receiveWindow: this.#options.limits.streamWindow,
      windowGrowth: this.#options.limits.windowGrowth,
      maximumHeaderLines: this.#options.limits.maximumHeaderLines,
      sendWindow: settings.initialWindowSize,
      gatheredAt: this.#writes,
    });
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

  end(): void {
    if (this.#goAwaySent) return;
    this.#sendGoAway(errorCode.noError);
    const { socket } = this.#options;
    socket.destroySoon();
    // `destroySoon` waits for ever if the server does not read.
    const timer = setTimeout(() => socket.destroy(), goAwayTimeout).unref();
    socket.once('close', () => clearTimeout(timer));
  }

  destroy(error: Error): void {
    this.#error ??= error;
    this.#receiver.stop();
    this.#options.socket.destroy();
  }

  streamClosed(stream: ClientStream, code: number): void {
    this.#receiver.streams.delete(stream.id);
    this.#options.events.onStreamClosed(code);
  }

  #received(bytes: Buffer): void {
    try {
      this.#receiver.receive(bytes);
      if (this.output.unread > maximumUnread)
        throw connectionError(errorCode.enhanceYourCalm, 'the server does not read what it is sent');
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.#sendGoAway(error instanceof Http2Error ? error.errorCode : errorCode.internalError);
    this.destroy(error instanceof Error ? error : new Error(String(error)));
  }

  stateOf(streamId: number): ClosedState {
    return streamId % 2 === 0 || streamId >= this.#nextStreamId ? 'idle' : 'closed by us';
  }

  headersReceived(
    { lines, endStream, exceedLimits }: ReceivedHeaders,
    stream: ClientStream | undefined,
  ): void {
    onStream(stream, (open) => {
      if (exceedLimits) throw malformedResponse('its head is too large', errorCode.enhanceYourCalm);
      open.receiveLines(lines, endStream);
    });
  }

  count(): void {}

  refuseStream(): void {}

  settingsReceived(): void {
    this.#options.events.onSettings();
  }

  goAwayReceived(lastProcessed: number, code: number): void {
    this.#goAwayReceived = true;
    // With this the streams up to `lastProcessed` fail if the connection ends before they do.
    if (code !== errorCode.noError) {
      this.#error ??= new Http2Error(
        'connection',
        code,
        `the server ended the connection (${errorCodeName(code)})`,
      );
    }
    this.#options.events.onGoAway();
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
    this.#receiver.stop();
    const error = this.#error ?? new Error('the connection was closed');
    for (const stream of this.#receiver.streams.all()) {
      // The server cannot have processed a head that was never written to the socket.
      const refused = stream.gatheredAt === this.#writes;
      stream.fail(error, { code: errorCode.internalError, refused });
    }
    this.#options.events.onClosed(error);
  }
}
