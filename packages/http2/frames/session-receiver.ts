import type { HeaderLimits } from '../hpack/header-decoder.ts';
import { ReceiveWindow, type SendWindow } from './flow-control.ts';
import {
  type Budget,
  type ClosedState,
  changedSettings,
  connectionError,
  dataKind,
  defaultMaximumFrameSize,
  errorCode,
  type FrameKind,
  type FrameRule,
  type FrameRules,
  type FrameTarget,
  frameFlag,
  frameHead,
  frameType,
  Http2Error,
  initialSettings,
  type PeerRole,
  type Settings,
} from './frame.ts';
import type { FrameOutput } from './frame-output.ts';
import {
  type FrameHandler,
  FrameReader,
  HeaderAssembly,
  ReceivedData,
  type ReceivedHeaders,
} from './frame-reader.ts';
import { isClosed, isReceiving, nextState, type StreamEvent, type StreamState } from './stream-state.ts';

/**
 * One request and its response: their state, and the content of a message as it is received, within its window (RFC 9113
 * section 5.2), and as long as it was announced (section 8.1.1). The same for servers and clients.
 */
export abstract class ReceivingStream {
  abstract readonly id: number;
  abstract readonly sendWindow: SendWindow;
  #state: StreamState;
  /** Bytes, where it has a `Content-Length`, or can have no content. */
  protected expectedLength: number | undefined;
  protected readonly output: FrameOutput;
  protected readonly window: ReceiveWindow | undefined;
  #receivedLength = 0;

  /** @param window `undefined` for a message that ended with its head */
  constructor(output: FrameOutput, state: StreamState, window: ReceiveWindow | undefined) {
    this.output = output;
    this.#state = state;
    this.window = window;
  }

  get state(): StreamState {
    return this.#state;
  }

  get isClosed(): boolean {
    return isClosed(this.#state);
  }

  /** The one place where the state changes. @param code of a reset (RFC 9113 section 7) */
  protected change(event: StreamEvent, code: number = errorCode.noError): void {
    const before = this.#state;
    this.#state = nextState(before, event);
    if (this.isClosed && !isClosed(before)) this.closed(before, code);
  }

  /** The stream has just been closed, once. @param before the state until then */
  protected abstract closed(before: StreamState, code: number): void;

  abstract reset(code: number, error: Error): void;
  abstract resetByPeer(code: number): void;
  abstract windowWidened(): void;
  /** The message is malformed: the stream is reset. @param code RFC 9113 section 7. Default: PROTOCOL_ERROR */
  protected abstract malformed(reason: string, code?: number): void;
  /** @param piece overwritten as soon as this returns */
  protected abstract takeContent(piece: Uint8Array): void;
  protected abstract takeEnd(): void;

  receiveDataHead(bytes: number): void {
    if (this.window?.take(bytes) !== true) {
      this.malformed('it exceeds the flow-control window', errorCode.flowControlError);
    }
  }

  receiveData(piece: Uint8Array): void {
    this.#receivedLength += piece.length;
    if (this.#receivedLength > (this.expectedLength ?? this.#receivedLength)) {
      this.malformed('it is longer than its Content-Length');
    } else this.takeContent(piece);
  }

  receiveEnd(): void {
    if (this.#receivedLength !== (this.expectedLength ?? this.#receivedLength)) {
      this.malformed('it is shorter than its Content-Length');
    } else this.takeEnd();
  }

  /** Bytes that were taken, padding included, are granted to the peer again. */
  grant(bytes: number): void {
    const granted = this.window?.release(bytes) ?? 0;
    if (granted > 0 && isReceiving(this.#state)) this.output.windowUpdate(this.id, granted);
  }
}

export interface ReceivingSession<Stream extends ReceivingStream> {
  stateOf(streamId: number): ClosedState;
  /**
   * A header block was received. @param stream `undefined` if it opens a new one
   * @throws {Http2Error} which resets only `stream` if it is of that scope (RFC 9113 section 5.4.2)
   */
  headersReceived(headers: ReceivedHeaders, stream: Stream | undefined): void;
  count(budget: Budget): void;
  refuseStream(streamId: number, code: number): void;
  lateDataReceived?(streamId: number, bytes: number): void;
  settingsReceived?(): void;
  /** @param lastProcessed the last stream that the peer may have processed */
  goAwayReceived(lastProcessed: number, code: number): void;
}

const free = 0;

/**
 * The open streams of one connection, a few hundred at most, by identifier.
 *
 * Not a `Map`: V8 copies the entries of a `Map` to a new table every few additions, and each old table refers to the next
 * (`OrderedHashTable::NextTable`, for iterators). Once one of them is in the old generation, the scavenger keeps all later
 * ones alive, with every stream that was in them. That cost a third more CPU per request and pauses of 10 ms instead of 1
 * (lab/bench/README.md). Searching a hundred numbers is as fast as a hash.
 */
export class StreamTable<Stream extends { readonly id: number }> {
  readonly #identifiers: number[] = [];
  readonly #streams: (Stream | undefined)[] = [];
  size = 0;

  get(identifier: number): Stream | undefined {
    const slot = this.#identifiers.indexOf(identifier);
    return slot === -1 ? undefined : this.#streams[slot];
  }

  add(stream: Stream): void {
    this.size++;
    const unused = this.#identifiers.indexOf(free);
    const slot = unused === -1 ? this.#identifiers.length : unused;
    this.#identifiers[slot] = stream.id;
    this.#streams[slot] = stream;
  }

  delete(identifier: number): void {
    const slot = this.#identifiers.indexOf(identifier);
    if (slot === -1) return;
    this.#identifiers[slot] = free;
    this.#streams[slot] = undefined;
    this.size--;
  }

  /** A copy, oldest first: streams may be closed during iteration. */
  all(): Stream[] {
    return this.#streams.filter((stream) => stream !== undefined).sort((one, other) => one.id - other.id);
  }
}

interface SessionReceiverOptions {
  readonly peer: PeerRole;
  readonly window: number;
  readonly limits: HeaderLimits;
  readonly rules: FrameRules;
  readonly output: FrameOutput;
  /** Bytes of payload that the peer may send in one frame. Default: 16 KiB. */
  readonly maximumFrameSize?: number;
}

/**
 * Receives one connection: handles its frames in order (RFC 9113 section 6), and has its open streams. The rules say what
 * a frame does in each state of its stream, and which budget counts it.
 */
export class SessionReceiver<Stream extends ReceivingStream> implements FrameHandler {
  readonly streams = new StreamTable<Stream>();
  readonly #session: ReceivingSession<Stream>;
  readonly #peer: PeerRole;
  readonly #rules: FrameRules;
  readonly #output: FrameOutput;
  readonly #reader: FrameReader;
  readonly #headers: HeaderAssembly;
  readonly #window: ReceiveWindow;
  settings: Settings | undefined;
  #data: ReceivedData | undefined;
  #dataStream: Stream | undefined;
  #dataTarget: FrameTarget = 'open';
  /** A window was widened. Handled once per read: a peer may send many small WINDOW_UPDATEs. */
  #hasWidened = false;

  constructor(session: ReceivingSession<Stream>, options: SessionReceiverOptions) {
    const { peer, window, limits, rules, output, maximumFrameSize = defaultMaximumFrameSize } = options;
    this.#session = session;
    this.#peer = peer;
    this.#rules = rules;
    this.#output = output;
    this.#window = new ReceiveWindow(window);
    this.#headers = new HeaderAssembly(limits);
    this.#reader = new FrameReader(this, maximumFrameSize);
  }

  get unfinished(): object | undefined {
    return this.#headers.unfinished ?? this.#reader.unfinished;
  }

  get heldBytes(): number {
    return this.#headers.heldBytes + (this.#reader.unfinished?.length ?? 0);
  }

  receive(bytes: Buffer): void {
    this.#reader.receive(bytes);
    if (!this.#hasWidened) return;
    this.#hasWidened = false;
    this.#output.proceed();
  }

  /** Discards everything from now on, and drops what was received: an object may still refer to this one. */
  stop(): void {
    this.#reader.stop();
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
    if (granted > 0) this.#output.windowUpdate(0, granted);
    const data = new ReceivedData(flags, length);
    this.#data = data;
    const stream = this.#streamOf(streamId);
    const target = this.#targetOf(streamId, stream);
    this.#dataTarget = target;
    if (target === 'closed by us') this.#session.lateDataReceived?.(streamId, length);
    const isTaken = this.#apply(this.#rules[dataKind(length, data.endStream)][target], streamId, stream);
    if (!isTaken || stream === undefined || stream.isClosed) return;
    this.#dataStream = stream;
    stream.receiveDataHead(length);
  }

  dataPiece(piece: Buffer): void {
    const content = this.#data?.contentOf(piece);
    const stream = this.#dataStream;
    if (content === undefined || stream === undefined || stream.isClosed) return;
    if (content.length < piece.length) stream.grant(piece.length - content.length);
    if (content.length > 0) stream.receiveData(content);
  }

  dataEnds(): void {
    const stream = this.#dataStream;
    // `undefined` if its content stopped us.
    if (this.#data?.endStream === true) {
      if (stream?.isClosed === false) stream.receiveEnd();
    } else if (this.#data?.isAllPadding === true) {
      const rule = this.#rules['DATA without content or end'][this.#dataTarget];
      if ((rule.action === 'take' || rule.action === 'ignore') && rule.counts !== undefined) {
        this.#session.count(rule.counts);
      }
    }
    this.#data = undefined;
    this.#dataStream = undefined;
  }

  #streamOf(streamId: number): Stream | undefined {
    return streamId === 0 ? undefined : this.streams.get(streamId);
  }

  #targetOf(streamId: number, stream: Stream | undefined): FrameTarget {
    if (streamId === 0) return 'connection';
    if (stream === undefined) return this.#session.stateOf(streamId);
    return isReceiving(stream.state) ? 'open' : 'half-closed';
  }

  #isTaken(kind: FrameKind, streamId: number, stream: Stream | undefined): boolean {
    return this.#apply(this.#rules[kind][this.#targetOf(streamId, stream)], streamId, stream);
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

  #expect(type: number): void {
    if (this.settings === undefined && type !== frameType.settings) {
      throw connectionError(errorCode.protocolError, 'the first frame is not SETTINGS');
    }
    if (this.#headers.unfinished !== undefined && type !== frameType.continuation) {
      throw connectionError(errorCode.protocolError, 'a header block is interrupted by another frame');
    }
  }

  #receiveHeaders(type: number, flags: number, streamId: number, payload: Buffer): void {
    if (type === frameType.continuation) {
      if (this.#headers.unfinished === undefined)
        this.#isTaken('CONTINUATION of nothing', streamId, undefined);
      // The CONTINUATION flood (CERT VU#421644).
      if (payload.length === 0) this.#session.count('idle frames');
    }
    const headers = this.#headers.receive(type, flags, streamId, payload);
    if (headers === undefined) return;
    const isMessage = headers.lines[0]?.startsWith(':') === true;
    const stream = this.#streamOf(streamId);
    if (!this.#isTaken(isMessage ? 'HEADERS of a message' : 'HEADERS of trailers', streamId, stream)) return;
    try {
      this.#session.headersReceived(headers, stream);
    } catch (error) {
      if (stream === undefined || !(error instanceof Http2Error) || error.scope !== 'stream') throw error;
      stream.reset(error.errorCode, error);
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
      if (this.settings === undefined) {
        throw connectionError(errorCode.protocolError, 'the first frame acknowledges SETTINGS');
      }
      this.#isTaken('SETTINGS that acknowledge', streamId, undefined);
      return;
    }
    if (this.settings !== undefined || streamId !== 0) this.#isTaken('SETTINGS', streamId, undefined);
    const before = this.settings ?? initialSettings;
    this.settings = changedSettings(before, payload, this.#peer);
    const wider = this.settings.initialWindowSize - before.initialWindowSize;
    for (const stream of this.streams.all()) stream.sendWindow.widenOrThrow(wider);
    if (wider > 0) this.#hasWidened = true;
    this.#output.write(frameHead(0, frameType.settings, frameFlag.ack, 0));
    this.#session.settingsReceived?.();
  }

  #receivePing(flags: number, streamId: number, payload: Buffer): void {
    expectLength(payload, 8);
    const isAck = (flags & frameFlag.ack) !== 0;
    if (this.#isTaken(isAck ? 'PING that acknowledges' : 'PING', streamId, undefined)) {
      this.#output.write(frameHead(8, frameType.ping, frameFlag.ack, 0) + payload.toString('latin1'));
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
      this.#output.sendWindow.widenOrThrow(increment);
      this.#hasWidened = true;
      return;
    }
    if (stream === undefined) return;
    // PROTOCOL_ERROR here (RFC 9113 section 6.9), but FLOW_CONTROL_ERROR if it is too large (section 6.9.1).
    if (increment === 0) {
      const { protocolError } = errorCode;
      stream.reset(
        protocolError,
        new Http2Error('stream', protocolError, 'a WINDOW_UPDATE has no increment'),
      );
    } else if (!stream.sendWindow.widen(increment)) {
      const { flowControlError } = errorCode;
      stream.reset(
        flowControlError,
        new Http2Error('stream', flowControlError, 'a WINDOW_UPDATE is too large'),
      );
    } else stream.windowWidened();
  }
}

const notAllowed = 'a frame is not allowed in the state of its stream';

/** @throws {Http2Error} RFC 9113 section 4.2 */
function expectLength(payload: Buffer, length: number): void {
  if (payload.length !== length)
    throw connectionError(errorCode.frameSizeError, 'a frame has the wrong length');
}
