import type { ClientStream } from './client-stream.ts';
import { ReceiveWindow } from './flow-window.ts';
import { errorCode, frameFlag, frameType } from './frame.ts';
import type { FrameHandler } from './frame-reader.ts';
import { HeaderAssembly } from './header-assembly.ts';
import type { HeaderLimits } from './hpack/header-decoder.ts';
import { connectionFault, Http2Error } from './http2-error.ts';
import { ReceivedData } from './received-data.ts';
import { changedSettings, initialServerSettings, type ServerSettings } from './settings.ts';

/** What frames do to a session. */
export interface ReceivingSession {
  /** @returns `undefined` for one that is over. @throws {Http2Error} for one that was never opened */
  streamOf(streamId: number): ClientStream | undefined;
  writeWindowUpdate(streamId: number, increment: number): void;
  /** The server's settings are here, or have changed; they are to be acknowledged. @throws {Http2Error} */
  settingsReceived(settings: ServerSettings, before: ServerSettings): void;
  /** @param payload eight bytes as a byte string, which the answer carries back */
  pingReceived(payload: string): void;
  /** @param lastProcessed the identifier of the last stream that the server (may have) processed */
  goAwayReceived(lastProcessed: number, code: number): void;
  /** More may be sent on all streams together. @throws {Http2Error} */
  connectionWindowWidened(increment: number): void;
}

/** Reads the frames of one connection, in the order in which the server wrote them (RFC 9113 section 6). */
export class SessionReceiver implements FrameHandler {
  readonly #session: ReceivingSession;
  readonly #headers: HeaderAssembly;
  readonly #window: ReceiveWindow;
  #settings: ServerSettings | undefined;
  /** The DATA frame that is being received, and whose it is, if anybody still wants it. */
  #data: ReceivedData | undefined;
  #dataStream: ClientStream | undefined;

  /** @param window bytes that the server may send ahead on all streams together */
  constructor(session: ReceivingSession, window: number, limits: HeaderLimits) {
    this.#session = session;
    this.#window = new ReceiveWindow(window);
    this.#headers = new HeaderAssembly(limits);
  }

  /** The server's; `undefined` until they are here. */
  get settings(): ServerSettings | undefined {
    return this.#settings;
  }

  /** The connection is over. Whoever still holds on to it must not hold what a server has sent. */
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
        expectLength(payload, 4);
        this.#session.streamOf(streamId)?.resetByServer(payload.readUInt32BE(0));
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
        throw connectionFault(errorCode.protocolError, 'the server pushes, which was switched off');
      default:
      // PRIORITY, and what later extensions bring, is ignored (RFC 9113 sections 5.3.2 and 5.5).
    }
  }

  dataBegins(flags: number, streamId: number, length: number): void {
    this.#expect(frameType.data);
    if (!this.#window.take(length)) {
      throw connectionFault(errorCode.flowControlError, 'the server sent more than it was granted');
    }
    // The streams' own windows are what holds the server back; this one must never starve a stream of another reader.
    const granted = this.#window.release(length);
    if (granted > 0) this.#session.writeWindowUpdate(0, granted);
    this.#data = new ReceivedData(flags, streamId, length);
    this.#dataStream = this.#session.streamOf(streamId);
    this.#onStream(this.#dataStream, (stream) => stream.receiveDataHead(length));
  }

  dataPiece(piece: Buffer): void {
    const content = (this.#data as ReceivedData).contentOf(piece);
    const stream = this.#dataStream;
    if (stream === undefined || stream.isClosed) return;
    if (content.length < piece.length) stream.dropPadding(piece.length - content.length);
    if (content.length > 0) this.#onStream(stream, () => stream.receiveData(content));
  }

  dataEnds(): void {
    if (this.#data?.endStream === true) this.#onStream(this.#dataStream, (stream) => stream.receiveEnd());
    this.#data = undefined;
    this.#dataStream = undefined;
  }

  /** What is wrong with one answer ends its stream only (RFC 9113 section 5.4.2). */
  #onStream(stream: ClientStream | undefined, act: (stream: ClientStream) => void): void {
    if (stream === undefined || stream.isClosed) return;
    try {
      act(stream);
    } catch (error) {
      if (!(error instanceof Http2Error) || error.scope !== 'stream') throw error;
      stream.reset(error.errorCode, error);
    }
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
    const stream = this.#session.streamOf(streamId);
    const headers = this.#headers.receive(type, flags, streamId, payload);
    if (headers === undefined) return;
    this.#onStream(stream, (open) => {
      if (headers.exceedLimits) {
        throw new Http2Error('stream', errorCode.enhanceYourCalm, 'the head of the answer is too large', {
          isInvalidAnswer: true,
        });
      }
      open.receiveLines(headers.lines, headers.endStream);
    });
  }

  #receiveSettings(flags: number, streamId: number, payload: Buffer): void {
    if (streamId !== 0) throw connectionFault(errorCode.protocolError, 'SETTINGS belongs to a stream');
    if ((flags & frameFlag.ack) !== 0) {
      expectLength(payload, 0);
      // RFC 9113 section 3.4: the server's own come first.
      if (this.#settings === undefined) {
        throw connectionFault(errorCode.protocolError, 'its first frame is not its SETTINGS');
      }
      return;
    }
    const before = this.#settings ?? initialServerSettings;
    this.#settings = changedSettings(before, payload);
    this.#session.settingsReceived(this.#settings, before);
  }

  #receivePing(flags: number, streamId: number, payload: Buffer): void {
    if (streamId !== 0) throw connectionFault(errorCode.protocolError, 'PING belongs to a stream');
    expectLength(payload, 8);
    if ((flags & frameFlag.ack) !== 0) return;
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
    this.#onStream(this.#session.streamOf(streamId), (stream) => {
      // RFC 9113 section 6.9 has another code for it than for one that is too large (section 6.9.1).
      if (increment === 0) {
        throw new Http2Error('stream', errorCode.protocolError, 'a WINDOW_UPDATE updates nothing');
      }
      if (!stream.sendWindow.widen(increment)) {
        throw new Http2Error('stream', errorCode.flowControlError, 'a WINDOW_UPDATE is out of range');
      }
      stream.upload?.proceed();
    });
  }
}

/** @throws {Http2Error} RFC 9113 section 4.2 */
function expectLength(payload: Buffer, length: number): void {
  if (payload.length !== length)
    throw connectionFault(errorCode.frameSizeError, 'a frame has the wrong length');
}
