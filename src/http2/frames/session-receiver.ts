import type { HeaderLimits } from '../hpack/header-decoder.ts';
import { ReceiveWindow } from './flow-window.ts';
import { errorCode, frameFlag, frameType } from './frame.ts';
import type { FrameHandler } from './frame-reader.ts';
import {
  type FrameKind,
  type FrameRule,
  type FrameRules,
  type StreamState,
  smallData,
} from './frame-rules.ts';
import { HeaderAssembly } from './header-assembly.ts';
import { connectionFault, Http2Error } from './http2-error.ts';
import { ReceivedData } from './received-data.ts';
import type { ReceivingSession, ReceivingStream } from './receiving-session.ts';
import { changedSettings, initialSettings, type PeerRole, type Settings } from './settings.ts';

export interface SessionReceiverOptions {
  /** Who is at the other end. */
  readonly peer: PeerRole;
  /** Bytes that it may send ahead on all streams together. */
  readonly window: number;
  readonly limits: HeaderLimits;
  /** What each of its frames does. */
  readonly rules: FrameRules;
}

/**
 * Reads the frames of one connection, in the order in which the other side wrote them (RFC 9113 section 6). What a frame
 * may do where, and what counts it, is for the rules to say.
 */
export class SessionReceiver<Stream extends ReceivingStream> implements FrameHandler {
  readonly #session: ReceivingSession<Stream>;
  readonly #peer: PeerRole;
  readonly #rules: FrameRules;
  readonly #headers: HeaderAssembly;
  readonly #window: ReceiveWindow;
  #settings: Settings | undefined;
  /** The DATA frame that is being received, and whose it is, if anybody still wants it. */
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

  /** The other side's; `undefined` until they are here. */
  get settings(): Settings | undefined {
    return this.#settings;
  }

  /** The block of header lines whose end is still to come: its identity. */
  get unfinishedBlock(): object | undefined {
    return this.#headers.unfinished;
  }

  /** Bytes that are held of it. */
  get heldBytes(): number {
    return this.#headers.heldBytes;
  }

  /** Nothing more comes of a block that has begun. */
  dropUnfinishedBlock(): void {
    this.#headers.stop();
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
        this.#isTaken('PUSH_PROMISE', streamId, undefined);
        break;
      case frameType.priority:
        // Nobody heeds it, but it has to be one (RFC 9113 section 6.3).
        expectLength(payload, 5);
        this.#isTaken('PRIORITY', streamId, this.#streamOf(streamId));
        break;
      default:
        // What later extensions bring is ignored (RFC 9113 section 5.5).
        this.#isTaken('of an unknown type', streamId, this.#streamOf(streamId));
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
      // That there is nothing in it shows only now.
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

  /** @returns whether what the frame says is to be done. @throws {Http2Error} of scope `connection` */
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
        else stream.reset(rule.code, new Http2Error('stream', rule.code, outOfPlace));
        return false;
      case 'connection error':
        throw connectionFault(rule.code, outOfPlace);
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
    if (type === frameType.continuation) {
      if (!this.#headers.isUnfinished) this.#isTaken('CONTINUATION of nothing', streamId, undefined);
      // What comes in many pieces of nothing (CERT VU#421644).
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
      // RFC 9113 section 3.4: its own come first.
      if (this.#settings === undefined) {
        throw connectionFault(errorCode.protocolError, 'its first frame is not its SETTINGS');
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
    const isAnswer = (flags & frameFlag.ack) !== 0;
    if (this.#isTaken(isAnswer ? 'PING that acknowledges' : 'PING', streamId, undefined)) {
      this.#session.pingReceived(payload.toString('latin1'));
    }
  }

  #receiveGoAway(streamId: number, payload: Buffer): void {
    if (payload.length < 8) throw connectionFault(errorCode.frameSizeError, 'GOAWAY is too short');
    if (!this.#isTaken('GOAWAY', streamId, undefined)) return;
    this.#session.goAwayReceived(payload.readUInt32BE(0) & 0x7fff_ffff, payload.readUInt32BE(4));
  }

  #receiveWindowUpdate(streamId: number, payload: Buffer): void {
    expectLength(payload, 4);
    const stream = this.#streamOf(streamId);
    if (!this.#isTaken('WINDOW_UPDATE', streamId, stream)) return;
    const increment = payload.readUInt32BE(0) & 0x7fff_ffff;
    if (streamId === 0) {
      if (increment === 0) throw connectionFault(errorCode.protocolError, 'WINDOW_UPDATE updates nothing');
      this.#session.connectionWindowWidened(increment);
      return;
    }
    onStream(stream, (open) => {
      // RFC 9113 section 6.9 has another code for it than for one that is too large (section 6.9.1).
      if (increment === 0) {
        throw new Http2Error('stream', errorCode.protocolError, 'a WINDOW_UPDATE updates nothing');
      }
      if (!open.sendWindow.widen(increment)) {
        throw new Http2Error('stream', errorCode.flowControlError, 'a WINDOW_UPDATE is out of range');
      }
      open.windowWidened();
    });
  }
}

const outOfPlace = 'a frame is out of place';

function dataKind({ endStream }: ReceivedData, length: number): FrameKind {
  if (endStream || length >= smallData) return 'DATA';
  return length === 0 ? 'DATA without content or end' : 'DATA with little content';
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
