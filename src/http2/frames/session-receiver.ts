import type { HeaderLimits } from '../hpack/header-decoder.ts';
import { ReceiveWindow } from './flow-window.ts';
import { errorCode, frameFlag, frameType } from './frame.ts';
import { type FrameHandler, ReceivedData } from './frame-reader.ts';
import {
  type FrameKind,
  type FrameRule,
  type FrameRules,
  type StreamState,
  smallData,
} from './frame-rules.ts';
import { HeaderAssembly } from './header-assembly.ts';
import { connectionError, Http2Error } from './http2-error.ts';
import type { ReceivingSession, ReceivingStream } from './receiving-session.ts';
import { changedSettings, initialSettings, type PeerRole, type Settings } from './settings.ts';

export interface SessionReceiverOptions {
  readonly peer: PeerRole;
  /** The window of the connection, in bytes. */
  readonly window: number;
  readonly limits: HeaderLimits;
  /** What each frame of the peer does. */
  readonly rules: FrameRules;
}

/**
 * Handles the frames of one connection in order (RFC 9113 section 6). The rules say what a frame does in each state of
 * its stream, and which budget counts it.
 */
export class SessionReceiver<Stream extends ReceivingStream> implements FrameHandler {
  readonly #session: ReceivingSession<Stream>;
  readonly #peer: PeerRole;
  readonly #rules: FrameRules;
  readonly #headers: HeaderAssembly;
  readonly #window: ReceiveWindow;
  #settings: Settings | undefined;
  /** The DATA frame that is being received, and its stream, if that takes it. */
  #data: ReceivedData | undefined;
  #dataStream: Stream | undefined;
  #dataState: StreamState = 'open';

  constructor(session: ReceivingSession<Stream>, { peer, window, limits, rules }: SessionReceiverOptions) {
    this.#session = session;
    this.#peer = peer;
    this.#rules = rules;
    this.#window = new ReceiveWindow(window);
    this.#headers = new HeaderAssembly(limits);
  }

  /** The peer's settings; `undefined` until they are received. */
  get settings(): Settings | undefined {
    return this.#settings;
  }

  /** The identity of the incomplete header block. */
  get unfinishedBlock(): object | undefined {
    return this.#headers.unfinished;
  }

  /** Memory of the incomplete header block, in bytes. */
  get heldBytes(): number {
    return this.#headers.heldBytes;
  }

  dropUnfinishedBlock(): void {
    this.#headers.stop();
  }

  /** The connection is over: drops what was received, for an object that still refers to this one. */
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
        this.#isTaken('PUSH_PROMISE', streamId, undefined);
        break;
      case frameType.priority:
        // Ignored, but it must have the right length (RFC 9113 section 6.3).
        expectLength(payload, 5);
        this.#isTaken('PRIORITY', streamId, this.#streamOf(streamId));
        break;
      default:
        // Extensions are ignored (RFC 9113 section 5.5).
        this.#isTaken('of an unknown type', streamId, this.#streamOf(streamId));
    }
  }

  dataBegins(flags: number, streamId: number, length: number): void {
    this.#expect(frameType.data);
    if (!this.#window.take(length)) {
      throw connectionError(errorCode.flowControlError, 'the peer exceeds the flow-control window');
    }
    // Granted at once: the windows of the streams limit the peer, and one slow reader must not starve other streams.
    const granted = this.#window.release(length);
    if (granted > 0) this.#session.writeWindowUpdate(0, granted);
    const data = new ReceivedData(flags, streamId, length);
    this.#data = data;
    const stream = this.#streamOf(streamId);
    const state = this.#stateOf(streamId, stream);
    this.#dataState = state;
    if (state === 'closed by us') this.#session.lateDataReceived?.(streamId, length);
    const isTaken = this.#apply(this.#rules[dataKind(data, length)][state], streamId, stream);
    this.#dataStream = isTaken ? stream : undefined;
    onStream(this.#dataStream, (open) => open.receiveDataHead(length));
  }

  dataPiece(piece: Buffer): void {
    const content = (this.#data as ReceivedData).contentOf(piece);
    const stream = this.#dataStream;
    if (stream === undefined || stream.isClosed) return;
    if (content.length < piece.length) stream.dropPadding(piece.length - content.length);
    if (content.length > 0) onStream(stream, () => stream.receiveData(content));
  }

  dataEnds(): void {
    const { endStream, isAllPadding } = this.#data as ReceivedData;
    if (endStream) onStream(this.#dataStream, (stream) => stream.receiveEnd());
    else if (isAllPadding) {
      // Only now is it known that there was no content.
      const rule = this.#rules['DATA without content or end'][this.#dataState];
      if ((rule.action === 'take' || rule.action === 'ignore') && rule.counts !== undefined) {
        this.#session.count(rule.counts);
      }
    }
    this.#data = undefined;
    this.#dataStream = undefined;
  }

  #streamOf(streamId: number): Stream | undefined {
    return streamId === 0 ? undefined : this.#session.streamOf(streamId);
  }

  #stateOf(streamId: number, stream: Stream | undefined): StreamState {
    if (streamId === 0) return 'connection';
    if (stream === undefined) return this.#session.stateOf(streamId);
    return stream.isReceived ? 'half-closed' : 'open';
  }

  /** @returns whether the frame takes effect. @throws {Http2Error} of scope `connection` */
  #isTaken(kind: FrameKind, streamId: number, stream: Stream | undefined): boolean {
    return this.#apply(this.#rules[kind][this.#stateOf(streamId, stream)], streamId, stream);
  }

  #apply(rule: FrameRule, streamId: number, stream: Stream | undefined): boolean {
    switch (rule.action) {
      case 'take':
        if (rule.counts !== undefined) this.#session.count(rule.counts);
        return true;
      case 'ignore':
        if (rule.counts !== undefined) this.#session.count(rule.counts);
        return false;
      case 'stream error':
        if (stream === undefined) this.#session.refuseStream(streamId, rule.code);
        else stream.reset(rule.code, new Http2Error('stream', rule.code, notAllowed));
        return false;
      case 'connection error':
        throw connectionError(rule.code, notAllowed);
    }
  }

  /** @throws {Http2Error} if another type of frame must come now */
  #expect(type: number): void {
    if (this.#settings === undefined && type !== frameType.settings) {
      throw connectionError(errorCode.protocolError, 'the first frame is not SETTINGS');
    }
    if (this.#headers.isUnfinished && type !== frameType.continuation) {
      throw connectionError(errorCode.protocolError, 'a header block is interrupted by another frame');
    }
  }

  #receiveHeaders(type: number, flags: number, streamId: number, payload: Buffer): void {
    if (type === frameType.continuation) {
      if (!this.#headers.isUnfinished) this.#isTaken('CONTINUATION of nothing', streamId, undefined);
      // The CONTINUATION flood (CERT VU#421644).
      if (payload.length === 0) this.#session.count('idle frames');
    }
    const headers = this.#headers.receive(type, flags, streamId, payload);
    if (headers === undefined) return;
    const isMessage = headers.lines[0]?.startsWith(':') === true;
    const stream = this.#streamOf(streamId);
    if (this.#isTaken(isMessage ? 'HEADERS of a message' : 'HEADERS of trailers', streamId, stream)) {
      this.#session.headersReceived(headers, stream);
    }
  }

  #receiveReset(streamId: number, payload: Buffer): void {
    expectLength(payload, 4);
    const stream = this.#streamOf(streamId);
    if (this.#isTaken('RST_STREAM', streamId, stream)) stream?.resetByPeer(payload.readUInt32BE(0));
  }

  #receiveSettings(flags: number, streamId: number, payload: Buffer): void {
    if ((flags & frameFlag.ack) !== 0) {
      expectLength(payload, 0);
      // RFC 9113 section 3.4: the peer sends its own first.
      if (this.#settings === undefined) {
        throw connectionError(errorCode.protocolError, 'the first frame acknowledges SETTINGS');
      }
      this.#isTaken('SETTINGS that acknowledge', streamId, undefined);
      return;
    }
    if (this.#settings !== undefined || streamId !== 0) this.#isTaken('SETTINGS', streamId, undefined);
    const before = this.#settings ?? initialSettings;
    this.#settings = changedSettings(before, payload, this.#peer);
    this.#session.settingsReceived(this.#settings, before);
  }

  #receivePing(flags: number, streamId: number, payload: Buffer): void {
    expectLength(payload, 8);
    const isAck = (flags & frameFlag.ack) !== 0;
    if (this.#isTaken(isAck ? 'PING that acknowledges' : 'PING', streamId, undefined)) {
      this.#session.pingReceived(payload.toString('latin1'));
    }
  }

  #receiveGoAway(streamId: number, payload: Buffer): void {
    if (payload.length < 8) throw connectionError(errorCode.frameSizeError, 'GOAWAY is too short');
    if (!this.#isTaken('GOAWAY', streamId, undefined)) return;
    this.#session.goAwayReceived(payload.readUInt32BE(0) & 0x7fff_ffff, payload.readUInt32BE(4));
  }

  #receiveWindowUpdate(streamId: number, payload: Buffer): void {
    expectLength(payload, 4);
    const stream = this.#streamOf(streamId);
    if (!this.#isTaken('WINDOW_UPDATE', streamId, stream)) return;
    const increment = payload.readUInt32BE(0) & 0x7fff_ffff;
    if (streamId === 0) {
      if (increment === 0) throw connectionError(errorCode.protocolError, 'a WINDOW_UPDATE has no increment');
      this.#session.connectionWindowWidened(increment);
      return;
    }
    onStream(stream, (open) => {
      // PROTOCOL_ERROR here (RFC 9113 section 6.9), but FLOW_CONTROL_ERROR if it is too large (section 6.9.1).
      if (increment === 0) {
        throw new Http2Error('stream', errorCode.protocolError, 'a WINDOW_UPDATE has no increment');
      }
      if (!open.sendWindow.widen(increment)) {
        throw new Http2Error('stream', errorCode.flowControlError, 'a WINDOW_UPDATE is too large');
      }
      open.windowWidened();
    });
  }
}

const notAllowed = 'a frame is not allowed in the state of its stream';

function dataKind({ endStream }: ReceivedData, length: number): FrameKind {
  if (endStream || length >= smallData) return 'DATA';
  return length === 0 ? 'DATA without content or end' : 'DATA with little content';
}

/** @throws {Http2Error} RFC 9113 section 4.2 */
function expectLength(payload: Buffer, length: number): void {
  if (payload.length !== length)
    throw connectionError(errorCode.frameSizeError, 'a frame has the wrong length');
}

/** A stream error resets only its own stream (RFC 9113 section 5.4.2). Does nothing on a closed stream. */
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
