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

/** What a client sends first (RFC 9113 section 3.4). */
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

/** The head of a frame, as a byte string. */
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

/** 32 bits in network order, as a byte string. */
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
