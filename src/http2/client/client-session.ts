import { SendWindow } from '../frames/flow-window.ts';
import {
  errorCode,
  frameFlag,
  frameHead,
  frameType,
  headersFrames,
  initialConnectionWindow,
  uint32,
} from '../frames/frame.ts';
import { FrameReader } from '../frames/frame-reader.ts';
import type { StreamState } from '../frames/frame-rules.ts';
import type { ReceivedHeaders } from '../frames/header-assembly.ts';
import { connectionFault, errorCodeName, Http2Error, malformedAnswer } from '../frames/http2-error.ts';
import type { ReceivingSession } from '../frames/receiving-session.ts';
import { onStream, SessionReceiver } from '../frames/session-receiver.ts';
import { clientSettings, initialSettings, type Settings } from '../frames/settings.ts';
import { StreamTable } from '../frames/stream-table.ts';
import { emptyTable } from '../hpack/header-encoder.ts';
import type { ClientRequest, ClientSessionOptions } from './client-session-options.ts';
import { ClientStream, type StreamConnection, type StreamListener } from './client-stream.ts';
import { FrameWriter } from './frame-writer.ts';
import { requestBlock } from './request-lines.ts';
import { RequestUpload, type UploadConnection } from './request-upload.ts';
import { serverFrameRules } from './server-frame-rules.ts';

/** RFC 9113 section 3.4. */
const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
/** Identifiers cannot be used twice, and end at 2³¹−1 (RFC 9113 section 5.1.1). */
const lastStreamId = 0x7fff_ffff;
/**
 * Bytes of a frame that servers may send: a window's worth. Each frame of a large list costs work on both sides, and
 * with those of 16 KiB that everybody takes a list of 10 MB takes a quarter more CPU (docs/explanation/performance.md).
 */
const maximumFrameSize = 256 * 1024;
/** That a server has for reading what it was sent before a connection without streams is closed. */
const goodbyeMilliseconds = 5_000;

/** The client's side of one HTTP/2 connection (RFC 9113): many requests at a time, and nothing pushed. */
export class ClientSession implements ReceivingSession<ClientStream>, StreamConnection, UploadConnection {
  readonly writer: FrameWriter;
  readonly sendWindow = new SendWindow(initialConnectionWindow);
  readonly waitingUploads = new Set<RequestUpload>();
  readonly #options: ClientSessionOptions;
  readonly #reader: FrameReader;
  readonly #receiver: SessionReceiver<ClientStream>;
  readonly #streams = new StreamTable<ClientStream>();
  #nextStreamId = 1;
  #goAwayReceived = false;
  #goAwaySent = false;
  /** Uploads may proceed: once for all frames that came together, for a server may send many that widen a little. */
  #hasWidened = false;
  #failure: Error | undefined;

  constructor(options: ClientSessionOptions) {
    const { socket, inbox, streamWindow, connectionWindow, maximumHeaderBytes, maximumHeaderLines } = options;
    this.#options = options;
    this.writer = new FrameWriter(socket);
    const limits = {
      maximumLines: maximumHeaderLines,
      maximumSize: maximumHeaderBytes,
      // One head that is too large must not cost the watches beside it: it ends its own stream.
      maximumBlock: 16 * maximumHeaderBytes,
    };
    this.#receiver = new SessionReceiver(this, {
      peer: 'server',
      window: connectionWindow,
      limits,
      rules: serverFrameRules,
    });
    this.#reader = new FrameReader(this.#receiver, maximumFrameSize);
    this.writer.write(preface + clientSettings(streamWindow, maximumHeaderBytes, maximumFrameSize));
    this.writeWindowUpdate(0, connectionWindow - initialConnectionWindow);
    inbox.take((bytes) => this.#received(bytes));
    socket.on('drain', () => this.#drained());
    socket.on('error', (error) => {
      this.#failure ??= error;
    });
    socket.on('end', () => socket.destroy());
    socket.on('close', () => this.#closed());
  }

  /** `undefined` until they are here. */
  get serverSettings(): Settings | undefined {
    return this.#receiver.settings;
  }

  /** Streams that are open. */
  get streams(): number {
    return this.#streams.size;
  }

  /** The server reads nothing: no request is to be begun before `onRoom`. */
  get isFull(): boolean {
    return this.writer.isFull;
  }

  /** Whether requests are still taken; how many at a time is the caller's to see to. */
  get isOpen(): boolean {
    const { socket } = this.#options;
    return (
      !this.#goAwayReceived && !this.#goAwaySent && socket.writable && this.#nextStreamId <= lastStreamId
    );
  }

  /**
   * @returns the stream; nothing of it has been handed to the listener yet.
   * @throws when the session is not open, or the request cannot be sent; nothing was sent then.
   */
  request({ method, target, headers, content }: ClientRequest, listener: StreamListener): ClientStream {
    if (!this.isOpen) throw new Error('the connection takes no more requests');
    const block = requestBlock(method, target, this.#options.authority, headers);
    const settings = this.#receiver.settings ?? initialSettings;
    const stream = new ClientStream({
      id: this.#nextStreamId,
      connection: this,
      listener,
      isHead: method === 'HEAD',
      receiveWindow: this.#options.streamWindow,
      maximumHeaderLines: this.#options.maximumHeaderLines,
      sendWindow: settings.initialWindowSize,
      collectedAt: this.writer.writes,
    });
    const whole = stream.id === 1 ? emptyTable + block : block;
    this.writer.write(headersFrames(stream.id, whole, content === undefined));
    this.#nextStreamId += 2;
    this.#streams.add(stream);
    if (content !== undefined) {
      stream.upload = new RequestUpload(this, stream, content);
      stream.upload.proceed();
    }
    return stream;
  }

  /** Asks the server for a sign of life. */
  ping(): void {
    this.writer.write(frameHead(8, frameType.ping, frameFlag.none, 0) + uint32(0) + uint32(0));
  }

  /** Only when no stream is open: says so to the server, and closes the connection. */
  end(): void {
    if (this.#goAwaySent) return;
    this.#sayGoAway(errorCode.noError);
    const { socket } = this.#options;
    socket.destroySoon();
    // It waits for a server that reads nothing.
    const timer = setTimeout(() => socket.destroy(), goodbyeMilliseconds).unref();
    socket.once('close', () => clearTimeout(timer));
  }

  /** Ends all streams, and the connection, at once. */
  destroy(error: Error): void {
    this.#failure ??= error;
    this.#reader.stop();
    this.#options.socket.destroy();
  }

  writeReset(streamId: number, code: number): void {
    this.writer.answer(frameHead(4, frameType.rstStream, frameFlag.none, streamId) + uint32(code));
  }

  writeWindowUpdate(streamId: number, increment: number): void {
    this.writer.answer(frameHead(4, frameType.windowUpdate, frameFlag.none, streamId) + uint32(increment));
  }

  streamClosed(stream: ClientStream, code: number): void {
    this.#streams.delete(stream.id);
    this.#options.events.onStreamClosed(code);
  }

  #received(bytes: Buffer): void {
    try {
      this.#reader.receive(bytes);
      if (this.#hasWidened) this.#proceedWithUploads();
      if (this.writer.isFlooded)
        throw connectionFault(errorCode.enhanceYourCalm, 'the server reads no answers');
    } catch (error) {
      const failure = error instanceof Error ? error : new Error(String(error));
      const code = failure instanceof Http2Error ? failure.errorCode : errorCode.internalError;
      this.#sayGoAway(code);
      this.writer.flush();
      this.destroy(failure);
    }
  }

  streamOf(streamId: number): ClientStream | undefined {
    return this.#streams.get(streamId);
  }

  stateOf(streamId: number): Exclude<StreamState, 'connection' | 'open' | 'half-closed'> {
    return streamId % 2 === 0 || streamId >= this.#nextStreamId ? 'idle' : 'closed by us';
  }

  headersReceived(
    { lines, endStream, exceedLimits }: ReceivedHeaders,
    stream: ClientStream | undefined,
  ): void {
    onStream(stream, (open) => {
      if (exceedLimits) throw malformedAnswer('its head is too large', errorCode.enhanceYourCalm);
      open.receiveLines(lines, endStream);
    });
  }

  /** The rules for servers count nothing. */
  count(): void {}

  /** The rules for servers refuse no stream. */
  refuseStream(): void {}

  settingsReceived(settings: Settings, before: Settings): void {
    const wider = settings.initialWindowSize - before.initialWindowSize;
    if (wider !== 0) for (const stream of this.#streams.all()) widen(stream.sendWindow, wider);
    this.writer.answer(frameHead(0, frameType.settings, frameFlag.ack, 0));
    if (wider > 0) this.#hasWidened = true;
    this.#options.events.onSettings();
  }

  pingReceived(payload: string): void {
    this.writer.answer(frameHead(8, frameType.ping, frameFlag.ack, 0) + payload);
  }

  goAwayReceived(lastProcessed: number, code: number): void {
    this.#goAwayReceived = true;
    // What the streams below it fail with when the connection ends before they do.
    if (code !== errorCode.noError) {
      this.#failure ??= new Http2Error(
        'connection',
        code,
        `the server ended the connection (${errorCodeName(code)})`,
      );
    }
    this.#options.events.onGoAway();
    const unprocessed =
      this.#failure ?? new Http2Error('stream', errorCode.refusedStream, 'the server goes away');
    for (const stream of this.#streams.all()) {
      if (stream.id > lastProcessed) {
        stream.fail(unprocessed, { code: errorCode.refusedStream, refused: true });
      }
    }
  }

  connectionWindowWidened(increment: number): void {
    widen(this.sendWindow, increment);
    this.#hasWidened = true;
  }

  #drained(): void {
    this.writer.drained();
    this.#proceedWithUploads();
    this.#options.events.onRoom();
  }

  #proceedWithUploads(): void {
    this.#hasWidened = false;
    for (const upload of [...this.waitingUploads]) {
      // Those that get nothing now keep their place in front of those that got something: where a server grants the
      // connection little at a time, the first would leave the others nothing.
      if (this.sendWindow.left <= 0 || this.writer.needsDrain) return;
      upload.proceed();
    }
  }

  #sayGoAway(code: number): void {
    if (this.#goAwaySent) return;
    this.#goAwaySent = true;
    // Nothing is pushed: no stream of the server's was processed.
    this.writer.write(frameHead(8, frameType.goAway, frameFlag.none, 0) + uint32(0) + uint32(code));
    this.writer.flush();
  }

  #closed(): void {
    this.#reader.stop();
    this.#receiver.stop();
    const failure = this.#failure ?? new Error('the connection was closed');
    for (const stream of this.#streams.all()) {
      // A head that the socket was never given cannot have been processed.
      const refused = stream.collectedAt === this.writer.writes;
      stream.fail(failure, { code: errorCode.internalError, refused });
    }
    this.#options.events.onClosed(failure);
  }
}

/** @throws {Http2Error} RFC 9113 section 6.9.1 */
function widen(window: SendWindow, bytes: number): void {
  if (!window.widen(bytes)) throw connectionFault(errorCode.flowControlError, 'a window becomes too large');
}
