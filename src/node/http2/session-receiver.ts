import { ReceiveWindow, type SendWindow } from './flow-window.ts';
import { errorCode, frameFlag, frameType } from './frame.ts';
import type { FrameHandler } from './frame-reader.ts';
import { HeaderAssembly, type ReceivedHeaders } from './header-assembly.ts';
import type { HeaderLimits } from './hpack/header-decoder.ts';
import { connectionFault, Http2Error } from './http2-error.ts';
import { ReceivedData } from './received-data.ts';
import { changedSettings, initialSettings, type PeerRole, type Settings } from './settings.ts';

/** What frames do to a stream, on either side. Methods throw {Http2Error} of scope `stream`. */
export interface ReceivingStream {
  /** The connection has no more to do with it. */
  readonly isClosed: boolean;
  readonly sendWindow: SendWindow;
  /** Gives it up: RST_STREAM. */
  reset(code: number, error: Error): void;
  /** RST_STREAM was received. */
  resetByPeer(code: number): void;
  /** @param bytes of a DATA frame, padding and all */
  receiveDataHead(bytes: number): void;
  /** @param piece lent */
  receiveData(piece: Uint8Array): void;
  /** Padding: nobody reads it. @param bytes of it */
  dropPadding(bytes: number): void;
  /** END_STREAM was received behind data. */
  receiveEnd(): void;
  /** More may be sent on it. */
  windowWidened(): void;
}

/** What frames do to a session. */
export interface ReceivingSession<Stream extends ReceivingStream> {
  /** @returns `undefined` for one that is over. @throws {Http2Error} for one that was never opened */
  streamOf(streamId: number): Stream | undefined;
  /**
   * A block of header lines is here, whole.
   * @throws {Http2Error} of scope `connection`
   */
  headersReceived(headers: ReceivedHeaders): void;
  /** RST_STREAM was received on a stream that is open. @throws {Http2Error} of scope `connection` */
  resetReceived?(): void;
  /**
   * A frame came that asks for nothing useful, or for an answer: many of them are an attack. @throws {Http2Error}
   * of scope `connection`
   */
  idleFrameReceived?(): void;
  writeWindowUpdate(streamId: number, increment: number): void;
  /** The other side's settings are here, or have changed; they are to be acknowledged. @throws {Http2Error} */
  settingsReceived(settings: Settings, before: Settings): void;
  /** @param payload eight bytes as a byte string, which the answer carries back */
  pingReceived(payload: string): void;
  /** @param lastProcessed the identifier of the last stream that the other side (may have) processed */
  goAwayReceived(lastProcessed: number, code: number): void;
  /** More may be sent on all streams together. @throws {Http2Error} */
  connectionWindowWidened(increment: number): void;
}

export interface SessionReceiverOptions {
  /** Who is at the other end. */
  readonly peer: PeerRole;
  /** Bytes that it may send ahead on all streams together. */
  readonly window: number;
  readonly limits: HeaderLimits;
}

/** Reads the frames of one connection, in the order in which the other side wrote them (RFC 9113 section 6). */
export class SessionReceiver<Stream extends ReceivingStream> implements FrameHandler {
  readonly #session: ReceivingSession<Stream>;
  readonly #peer: PeerRole;
  readonly #headers: HeaderAssembly;
  readonly #window: ReceiveWindow;
  #settings: Settings | undefined;
  /** The DATA frame that is being received, and whose it is, if anybody still wants it. */
  #data: ReceivedData | undefined;
  #dataStream: Stream | undefined;

  constructor(session: ReceivingSession<Stream>, { peer, window, limits }: SessionReceiverOptions) {
    this.#session = session;
    this.#peer = peer;
    this.#window = new ReceiveWindow(window);
    this.#headers = new HeaderAssembly(limits);
  }

  /** The other side's; `undefined` until they are here. */
  get settings(): Settings | undefined {
    return this.#settings;
  }

  /** The connection is over. Whoever still holds on to it must not hold what was sent. */
  stop(): void {
    this.#headers.stop();
    this.#data = undefined;
    this.#dataStream = undefined;
  }

  frame(type: number, flags: number, streamId: number, payload: Buffer): void {
    this.#expect(type);
    switch (type) {
      case frameType.headers:
      case frameType.continuation:
        this.#receiveHeaders(type, flags, streamId, payload);
        break;
      case frameType.rstStream:
        this.#receiveReset(streamId, payload);
        break;
      case frameType.settings:
        this.#receiveSettings(flags, streamId, payload);
        break;
      case frameType.ping:
        this.#receivePing(flags, streamId, payload);
        break;
      case frameType.goAway:
        this.#receiveGoAway(streamId, payload);
        break;
      case frameType.windowUpdate:
        this.#receiveWindowUpdate(streamId, payload);
        break;
      case frameType.pushPromise:
        throw connectionFault(errorCode.protocolError, `the ${this.#peer} pushes`);
      case frameType.priority:
        // Nobody heeds it, but it has to be one (RFC 9113 section 6.3).
        if (streamId === 0) throw connectionFault(errorCode.protocolError, 'PRIORITY belongs to no stream');
        expectLength(payload, 5);
        this.#session.idleFrameReceived?.();
        break;
      default:
        // What later extensions bring is ignored (RFC 9113 section 5.5).
        this.#session.idleFrameReceived?.();
    }
  }

  dataBegins(flags: number, streamId: number, length: number): void {
    this.#expect(frameType.data);
    if (!this.#window.take(length)) {
      throw connectionFault(errorCode.flowControlError, 'more was sent than was granted');
    }
    // The streams' own windows are what holds the other side back; this one must never starve a stream of another reader.
    const granted = this.#window.release(length);
    if (granted > 0) this.#session.writeWindowUpdate(0, granted);
    this.#data = new ReceivedData(flags, streamId, length);
    // Nothing, and no end either (CVE-2019-9518).
    if (length === 0 && !this.#data.endStream) this.#session.idleFrameReceived?.();
    this.#dataStream = this.#session.streamOf(streamId);
    onStream(this.#dataStream, (stream) => stream.receiveDataHead(length));
  }

  dataPiece(piece: Buffer): void {
    const content = (this.#data as ReceivedData).contentOf(piece);
    const stream = this.#dataStream;
    if (stream === undefined || stream.isClosed) return;
    if (content.length < piece.length) stream.dropPadding(piece.length - content.length);
    if (content.length > 0) onStream(stream, () => stream.receiveData(content));
  }

  dataEnds(): void {
    if (this.#data?.endStream === true) onStream(this.#dataStream, (stream) => stream.receiveEnd());
    this.#data = undefined;
    this.#dataStream = undefined;
  }

  /** @throws {Http2Error} when another type has to come */
  #expect(type: number): void {
    if (this.#settings === undefined && type !== frameType.settings) {
      throw connectionFault(errorCode.protocolError, 'its first frame is not SETTINGS');
    }
    if (this.#headers.isUnfinished && type !== frameType.continuation) {
      throw connectionFault(errorCode.protocolError, 'a block of header lines is broken off');
    }
  }

  #receiveHeaders(type: number, flags: number, streamId: number, payload: Buffer): void {
    const headers = this.#headers.receive(type, flags, streamId, payload);
    if (headers !== undefined) this.#session.headersReceived(headers);
  }

  #receiveReset(streamId: number, payload: Buffer): void {
    expectLength(payload, 4);
    const stream = this.#session.streamOf(streamId);
    if (stream === undefined) return;
    this.#session.resetReceived?.();
    stream.resetByPeer(payload.readUInt32BE(0));
  }

  #receiveSettings(flags: number, streamId: number, payload: Buffer): void {
    if (streamId !== 0) throw connectionFault(errorCode.protocolError, 'SETTINGS belongs to a stream');
    if ((flags & frameFlag.ack) !== 0) {
      expectLength(payload, 0);
      // RFC 9113 section 3.4: its own come first.
      if (this.#settings === undefined) {
        throw connectionFault(errorCode.protocolError, 'its first frame is not its SETTINGS');
      }
      return;
    }
    if (this.#settings !== undefined) this.#session.idleFrameReceived?.();
    const before = this.#settings ?? initialSettings;
    this.#settings = changedSettings(before, payload, this.#peer);
    this.#session.settingsReceived(this.#settings, before);
  }

  #receivePing(flags: number, streamId: number, payload: Buffer): void {
    if (streamId !== 0) throw connectionFault(errorCode.protocolError, 'PING belongs to a stream');
    expectLength(payload, 8);
    if ((flags & frameFlag.ack) !== 0) return;
    this.#session.idleFrameReceived?.();
    this.#session.pingReceived(payload.toString('latin1'));
  }

  #receiveGoAway(streamId: number, payload: Buffer): void {
    if (streamId !== 0) throw connectionFault(errorCode.protocolError, 'GOAWAY belongs to a stream');
    if (payload.length < 8) throw connectionFault(errorCode.frameSizeError, 'GOAWAY is too short');
    this.#session.goAwayReceived(payload.readUInt32BE(0) & 0x7fff_ffff, payload.readUInt32BE(4));
  }

  #receiveWindowUpdate(streamId: number, payload: Buffer): void {
    expectLength(payload, 4);
    const increment = payload.readUInt32BE(0) & 0x7fff_ffff;
    if (streamId === 0) {
      if (increment === 0) throw connectionFault(errorCode.protocolError, 'WINDOW_UPDATE updates nothing');
      this.#session.connectionWindowWidened(increment);
      return;
    }
    onStream(this.#session.streamOf(streamId), (stream) => {
      // RFC 9113 section 6.9 has another code for it than for one that is too large (section 6.9.1).
      if (increment === 0) {
        throw new Http2Error('stream', errorCode.protocolError, 'a WINDOW_UPDATE updates nothing');
      }
      if (!stream.sendWindow.widen(increment)) {
        throw new Http2Error('stream', errorCode.flowControlError, 'a WINDOW_UPDATE is out of range');
      }
      stream.windowWidened();
    });
  }
}

/** @throws {Http2Error} RFC 9113 section 4.2 */
function expectLength(payload: Buffer, length: number): void {
  if (payload.length !== length)
    throw connectionFault(errorCode.frameSizeError, 'a frame has the wrong length');
}

/** What is wrong with one stream ends no other (RFC 9113 section 5.4.2). Does nothing on one that is over. */
export function onStream<Stream extends ReceivingStream>(
  stream: Stream | undefined,
  act: (stream: Stream) => void,
): void {
  if (stream === undefined || stream.isClosed) return;
  try {
    act(stream);
  } catch (error) {
    if (!(error instanceof Http2Error) || error.scope !== 'stream') throw error;
    stream.reset(error.errorCode, error);
  }
}
