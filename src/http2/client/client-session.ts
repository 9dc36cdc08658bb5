import {
  errorCode,
  frameFlag,
  frameHead,
  frameType,
  initialConnectionWindow,
  preface,
  uint32,
} from '../frames/frame.ts';
import { FrameOutput } from '../frames/frame-output.ts';
import type { ClosedState } from '../frames/frame-rules.ts';
import type { ReceivedHeaders } from '../frames/header-assembly.ts';
import { connectionError, errorCodeName, Http2Error, malformedResponse } from '../frames/http2-error.ts';
import { onStream, type ReceivingSession } from '../frames/receiving-session.ts';
import { SessionReceiver } from '../frames/session-receiver.ts';
import { initialSettings, type Settings, settingsFrame } from '../frames/settings.ts';
import type { PieceWriter } from '../sockets/gathered-writes.ts';
import type { ClientRequest, ClientSessionOptions } from './client-session-options.ts';
import { ClientStream, type StreamConnection, type StreamListener } from './client-stream.ts';
import { requestBlock } from './message-heads.ts';
import { RequestUpload } from './request-upload.ts';
import { serverFrameRules } from './server-frame-rules.ts';

/** Identifiers cannot be used twice, and end at 2³¹−1 (RFC 9113 section 5.1.1). */
const lastStreamId = 0x7fff_ffff;
/**
 * SETTINGS_MAX_FRAME_SIZE for servers. With the default of 16 KiB a list of 10 MB takes a quarter more CPU
 * (bench/README.md).
 */
const maximumFrameSize = 256 * 1024;
/** Bytes that may wait for a server that does not read. */
const maximumUnread = 1024 * 1024;
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
    inbox.take((bytes) => this.#received(bytes));
    socket.on('error', (error) => {
      this.#error ??= error;
    });
    socket.on('end', () => socket.destroy());
    socket.on('close', () => this.#closed());
  }

  /** `undefined` until they are received. */
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

  /** Whether requests can be sent. The caller limits how many at a time. */
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

  /** Sends GOAWAY and closes the connection. Only when no stream is open. */
  end(): void {
    if (this.#goAwaySent) return;
    this.#sendGoAway(errorCode.noError);
    const { socket } = this.#options;
    socket.destroySoon();
    // `destroySoon` waits for ever if the server does not read.
    const timer = setTimeout(() => socket.destroy(), goAwayTimeout).unref();
    socket.once('close', () => clearTimeout(timer));
  }

  /** Ends the connection and all of its streams at once. */
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

  /** The server broke the protocol, or we failed: the whole connection ends. */
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

  /** The rules for servers count nothing. */
  count(): void {}

  /** The rules for servers refuse no stream. */
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
