/** Frame types (RFC 9113 section 6). */
export const frameType = {
  data: 0x0,
  headers: 0x1,
  priority: 0x2,
  rstStream: 0x3,
  settings: 0x4,
  pushPromise: 0x5,
  ping: 0x6,
  goAway: 0x7,
  windowUpdate: 0x8,
  continuation: 0x9,
} as const;

/** Flags of frames (RFC 9113 section 6); what a bit means depends on the type. */
export const frameFlag = {
  none: 0x0,
  ack: 0x1,
  endStream: 0x1,
  endHeaders: 0x4,
  padded: 0x8,
  priority: 0x20,
} as const;

/** Error codes (RFC 9113 section 7). */
export const errorCode = {
  noError: 0x0,
  protocolError: 0x1,
  internalError: 0x2,
  flowControlError: 0x3,
  settingsTimeout: 0x4,
  streamClosed: 0x5,
  frameSizeError: 0x6,
  refusedStream: 0x7,
  cancel: 0x8,
  compressionError: 0x9,
  enhanceYourCalm: 0xb,
} as const;

/** The first bytes that a client sends (RFC 9113 section 3.4). */
export const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

/** Bytes in front of each frame's payload (RFC 9113 section 4.1). */
export const frameHeadLength = 9;

/**
 * Bytes of payload that every endpoint accepts (RFC 9113 section 4.2). Clients may send no more. We never send more: a
 * larger frame would delay other streams.
 */
export const defaultMaximumFrameSize = 16_384;

/** The largest flow-control window, in bytes (RFC 9113 section 6.9.1). */
export const maximumWindow = 0x7fff_ffff;

/** The initial window of a connection, which no setting changes, in bytes (RFC 9113 section 6.9.2). */
export const initialConnectionWindow = 65_535;

export function frameHead(length: number, type: number, flags: number, streamId: number): string {
  return String.fromCharCode(
    (length >>> 16) & 0xff,
    (length >>> 8) & 0xff,
    length & 0xff,
    type,
    flags,
    (streamId >>> 24) & 0x7f,
    (streamId >>> 16) & 0xff,
    (streamId >>> 8) & 0xff,
    streamId & 0xff,
  );
}

export function uint32(value: number): string {
  return String.fromCharCode(
    (value >>> 24) & 0xff,
    (value >>> 16) & 0xff,
    (value >>> 8) & 0xff,
    value & 0xff,
  );
}

/** The frames of a header block, as a byte string: HEADERS, and CONTINUATION for what does not fit. */
export function headersFrames(streamId: number, block: string, endStream: boolean): string {
  const size = defaultMaximumFrameSize;
  let frames = '';
  for (let offset = 0; offset === 0 || offset < block.length; offset += size) {
    const fragment = block.slice(offset, offset + size);
    const isLast = offset + size >= block.length;
    const type = offset === 0 ? frameType.headers : frameType.continuation;
    const end = offset === 0 && endStream ? frameFlag.endStream : frameFlag.none;
    frames +=
      frameHead(fragment.length, type, end | (isLast ? frameFlag.endHeaders : 0), streamId) + fragment;
  }
  return frames;
}

/** The scope of an error: one stream, or the connection with all its streams (RFC 9113 section 5.4). */
type Http2ErrorScope = 'stream' | 'connection';

export class Http2Error extends Error {
  override readonly name = 'Http2Error';
  /** Has a prefix of its own, unlike the codes of Node, OpenSSL and undici. */
  readonly code: `ERR_HTTP2_CLIENT_${Uppercase<Http2ErrorScope>}`;
  readonly scope: Http2ErrorScope;
  /** RFC 9113 section 7. */
  readonly errorCode: number;
  /** The server sent invalid HTTP/2: it may have processed the request. */
  readonly isInvalidResponse: boolean;

  constructor(scope: Http2ErrorScope, code: number, message: string, isInvalidResponse = false) {
    super(message);
    this.scope = scope;
    this.code = scope === 'stream' ? 'ERR_HTTP2_CLIENT_STREAM' : 'ERR_HTTP2_CLIENT_CONNECTION';
    this.errorCode = code;
    this.isInvalidResponse = isInvalidResponse;
  }
}

/** The peer broke the protocol, and the connection must end. @param code RFC 9113 section 7 */
export function connectionError(code: number, reason: string): Http2Error {
  return new Http2Error('connection', code, `the peer sent invalid HTTP/2: ${reason}`, true);
}

/**
 * One response is malformed (RFC 9113 section 8.1.1); other streams continue.
 * @param code RFC 9113 section 7. Default: PROTOCOL_ERROR
 */
export function malformedResponse(reason: string, code: number = errorCode.protocolError): Http2Error {
  return new Http2Error('stream', code, `the response is not valid HTTP/2: ${reason}`, true);
}

/**
 * One request is malformed (RFC 9113 section 8.1.1); other streams continue.
 * @param code RFC 9113 section 7. Default: PROTOCOL_ERROR
 */
export function malformedRequest(reason: string, code: number = errorCode.protocolError): Http2Error {
  return new Http2Error('stream', code, `the request is not valid HTTP/2: ${reason}`);
}

/** @param code RFC 9113 section 7 */
export function errorCodeName(code: number): string {
  for (const [name, value] of Object.entries(errorCode)) {
    if (value === code) return name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
  }
  return `0x${code.toString(16)}`;
}

/** RFC 9113 section 6.5.2. */
const identifier = {
  headerTableSize: 0x1,
  enablePush: 0x2,
  maxConcurrentStreams: 0x3,
  initialWindowSize: 0x4,
  maxFrameSize: 0x5,
  maxHeaderListSize: 0x6,
} as const;

export type PeerRole = 'client' | 'server';

export interface Settings {
  readonly maxConcurrentStreams: number;
  readonly initialWindowSize: number;
  readonly maxHeaderListSize: number;
}

/** The defaults (RFC 9113 section 6.5.2). */
export const initialSettings: Settings = {
  maxConcurrentStreams: Number.POSITIVE_INFINITY,
  initialWindowSize: 65_535,
  maxHeaderListSize: Number.POSITIVE_INFINITY,
};

export function settingsFrame(...settings: readonly (readonly [keyof typeof identifier, number])[]): string {
  let payload = '';
  for (const [name, value] of settings) {
    payload += String.fromCharCode(0, identifier[name]) + uint32(value);
  }
  return frameHead(payload.length, frameType.settings, frameFlag.none, 0) + payload;
}

/**
 * Applies the payload of a SETTINGS frame. Two settings are ignored: the size of the header table, because we use none,
 * and the size of frames, because ours never exceed the default.
 * @param from who sent it
 * @throws {Http2Error} RFC 9113 section 6.5.2
 */
export function changedSettings(settings: Settings, payload: Buffer, from: PeerRole): Settings {
  if (payload.length % 6 !== 0)
    throw connectionError(errorCode.frameSizeError, 'SETTINGS has an incomplete entry');
  let { maxConcurrentStreams, initialWindowSize, maxHeaderListSize } = settings;
  for (let offset = 0; offset < payload.length; offset += 6) {
    const value = payload.readUInt32BE(offset + 2);
    switch (payload.readUInt16BE(offset)) {
      case identifier.enablePush:
        // 0 or 1; a server must not enable it (RFC 9113 section 6.5.2).
        if (value > (from === 'server' ? 0 : 1)) {
          throw connectionError(errorCode.protocolError, 'SETTINGS_ENABLE_PUSH is invalid');
        }
        break;
      case identifier.maxConcurrentStreams:
        maxConcurrentStreams = value;
        break;
      case identifier.initialWindowSize:
        if (value > maximumWindow)
          throw connectionError(errorCode.flowControlError, 'SETTINGS_INITIAL_WINDOW_SIZE is too large');
        initialWindowSize = value;
        break;
      case identifier.maxFrameSize:
        if (value < defaultMaximumFrameSize || value > 0xff_ffff) {
          throw connectionError(errorCode.protocolError, 'SETTINGS_MAX_FRAME_SIZE is out of range');
        }
        break;
      case identifier.maxHeaderListSize:
        maxHeaderListSize = value;
        break;
    }
  }
  return { maxConcurrentStreams, initialWindowSize, maxHeaderListSize };
}

/** The rows of the table: types of frames (RFC 9113 section 6), some of them split by their content. */
export const frameKinds = [
  'DATA',
  'DATA with little content',
  'DATA without content or end',
  'HEADERS of a message',
  'HEADERS of trailers',
  'CONTINUATION of nothing',
  'PRIORITY',
  'RST_STREAM',
  'SETTINGS',
  'SETTINGS that acknowledge',
  'PUSH_PROMISE',
  'PING',
  'PING that acknowledges',
  'GOAWAY',
  'WINDOW_UPDATE',
  'of an unknown type',
] as const;

export type FrameKind = (typeof frameKinds)[number];

/**
 * The columns: what a frame is for, the connection or a stream in a state as the receiver of the frame sees it (RFC 9113
 * section 5.1).
 */
export const frameTargets = [
  'connection',
  'idle',
  'open',
  'half-closed',
  /** We reset it: frames in transit may still arrive. */
  'closed by us',
  /** Both sides ended it, the peer reset it, or its identifier was skipped. */
  'closed',
  'after our GOAWAY',
] as const;

export type FrameTarget = (typeof frameTargets)[number];

export type ClosedState = Exclude<FrameTarget, 'connection' | 'open' | 'half-closed'>;

export type Budget = 'resets' | 'idle frames' | 'small data' | 'window updates';

/** A DATA frame with fewer bytes of content costs more than it carries. */
export const smallData = 256;

export function dataKind(length: number, endStream: boolean): FrameKind {
  if (endStream || length >= smallData) return 'DATA';
  return length === 0 ? 'DATA without content or end' : 'DATA with little content';
}

export type FrameRule =
  | { readonly action: 'take'; readonly counts: Budget | undefined }
  /** The frame has no effect, but is read where later frames depend on it (HPACK). */
  | { readonly action: 'ignore'; readonly counts: Budget | undefined }
  /** RST_STREAM is sent, and counted where it is written. */
  | { readonly action: 'stream error'; readonly code: number; readonly counts: 'resets' }
  | { readonly action: 'connection error'; readonly code: number };

export type FrameRules = Readonly<Record<FrameKind, Readonly<Record<FrameTarget, FrameRule>>>>;

export const take: FrameRule = { action: 'take', counts: undefined };
export const ignore: FrameRule = { action: 'ignore', counts: undefined };
export const protocolError: FrameRule = { action: 'connection error', code: errorCode.protocolError };

export function takeAndCount(counts?: Budget): FrameRule {
  return { action: 'take', counts };
}

export function ignoreAndCount(counts?: Budget): FrameRule {
  return { action: 'ignore', counts };
}

/** @param code RFC 9113 section 7 */
export function streamError(code: number): FrameRule {
  return { action: 'stream error', code, counts: 'resets' };
}

export function onAnyStream(
  rule: FrameRule,
  others: Partial<Record<FrameTarget, FrameRule>> = {},
): Readonly<Record<FrameTarget, FrameRule>> {
  return {
    connection: rule,
    idle: rule,
    open: rule,
    'half-closed': rule,
    'closed by us': rule,
    closed: rule,
    'after our GOAWAY': rule,
    ...others,
  };
}

/** For frames of the connection, which are errors on a stream (RFC 9113 section 6). */
export function onConnection(rule: FrameRule): Readonly<Record<FrameTarget, FrameRule>> {
  return onAnyStream(protocolError, { connection: rule });
}
