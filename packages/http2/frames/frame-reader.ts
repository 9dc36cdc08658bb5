import {
  type DecodedHeaders,
  HeaderDecoder,
  type HeaderLimits,
  HpackError,
} from '../hpack/header-decoder.ts';
import {
  connectionError,
  defaultMaximumFrameSize,
  errorCode,
  frameFlag,
  frameHeadLength,
  frameType,
  preface,
} from './frame.ts';

/** Handles frames. Bytes are overwritten as soon as a method returns. */
export interface FrameHandler {
  frame(type: number, flags: number, streamId: number, payload: Buffer): void;
  dataBegins(flags: number, streamId: number, length: number): void;
  dataPiece(piece: Buffer): void;
  dataEnds(): void;
}

/**
 * Splits the bytes of a connection into frames. DATA is passed on as it arrives; other frames, which mostly arrive whole,
 * are collected.
 */
export class FrameReader {
  readonly #handler: FrameHandler;
  readonly #maximumFrameSize: number;
  /** An incomplete frame, in a buffer of its full length; or an incomplete frame head. */
  unfinished: Buffer | undefined;
  #partialLength = 0;
  #dataLeft = 0;
  #stopped = false;

  constructor(handler: FrameHandler, maximumFrameSize: number = defaultMaximumFrameSize) {
    this.#handler = handler;
    this.#maximumFrameSize = maximumFrameSize;
  }

  stop(): void {
    this.#stopped = true;
    this.unfinished = undefined;
  }

  /** @throws {Http2Error} of the handler, and FRAME_SIZE_ERROR (RFC 9113 section 4.2) */
  receive(chunk: Buffer): void {
    let offset = 0;
    while (offset < chunk.length && !this.#stopped) {
      if (this.#dataLeft > 0) offset = this.#takeData(chunk, offset);
      else if (this.unfinished !== undefined) offset = this.#complete(this.unfinished, chunk, offset);
      else {
        const end = this.#takeFrame(chunk, offset);
        if (end === offset) {
          this.#keep(chunk, offset);
          return;
        }
        offset = end;
      }
    }
  }

  #keep(chunk: Buffer, offset: number): void {
    const left = chunk.length - offset;
    const length = left < frameHeadLength ? frameHeadLength : frameHeadLength + payloadLength(chunk, offset);
    this.unfinished = Buffer.allocUnsafeSlow(length);
    this.#partialLength = chunk.copy(this.unfinished, 0, offset);
  }

  #complete(partial: Buffer, chunk: Buffer, offset: number): number {
    const taken = chunk.copy(partial, this.#partialLength, offset);
    this.#partialLength += taken;
    if (this.#partialLength < partial.length) return chunk.length;
    const end = this.#takeFrame(partial, 0);
    if (end === 0) this.#keep(partial, 0);
    else this.unfinished = undefined;
    return offset + taken;
  }

  #takeFrame(bytes: Buffer, offset: number): number {
    const begin = offset + frameHeadLength;
    if (begin > bytes.length) return offset;
    const length = payloadLength(bytes, offset);
    if (length > this.#maximumFrameSize) {
      throw connectionError(errorCode.frameSizeError, 'a frame is too long');
    }
    const type = bytes[offset + 3] as number;
    const flags = bytes[offset + 4] as number;
    const streamId =
      (((bytes[offset + 5] as number) & 0x7f) << 24) |
      ((bytes[offset + 6] as number) << 16) |
      ((bytes[offset + 7] as number) << 8) |
      (bytes[offset + 8] as number);
    if (type === frameType.data) {
      this.#handler.dataBegins(flags, streamId, length);
      this.#dataLeft = length;
      if (length === 0) this.#handler.dataEnds();
      return begin;
    }
    if (begin + length > bytes.length) return offset;
    this.#handler.frame(type, flags, streamId, bytes.subarray(begin, begin + length));
    return begin + length;
  }

  #takeData(bytes: Buffer, offset: number): number {
    const end = Math.min(bytes.length, offset + this.#dataLeft);
    this.#dataLeft -= end - offset;
    this.#handler.dataPiece(bytes.subarray(offset, end));
    if (this.#dataLeft === 0) this.#handler.dataEnds();
    return end;
  }
}

function payloadLength(bytes: Buffer, offset: number): number {
  return (
    ((bytes[offset] as number) << 16) | ((bytes[offset + 1] as number) << 8) | (bytes[offset + 2] as number)
  );
}

const prefaceBytes = Buffer.from(preface);

export class Preface {
  #received = 0;

  /** @returns the bytes after the preface. @throws {Http2Error} if the preface is wrong */
  skip(bytes: Buffer): Buffer {
    if (this.#received === prefaceBytes.length) return bytes;
    const part = bytes.subarray(0, prefaceBytes.length - this.#received);
    const expected = prefaceBytes.subarray(this.#received, this.#received + part.length);
    if (!part.equals(expected)) {
      throw connectionError(errorCode.protocolError, 'the connection preface is wrong');
    }
    this.#received += part.length;
    return bytes.subarray(part.length);
  }
}

/** A DATA frame as it arrives: separates its content from its padding (RFC 9113 section 6.1). */
export class ReceivedData {
  readonly endStream: boolean;
  #left: number;
  /** Bytes of padding after the content; `undefined` until its length byte is received. */
  #padding: number | undefined;
  readonly #length: number;

  constructor(flags: number, length: number) {
    this.endStream = (flags & frameFlag.endStream) !== 0;
    this.#length = length;
    this.#left = length;
    const isPadded = (flags & frameFlag.padded) !== 0;
    if (isPadded && length === 0) throw paddedBeyondEnd();
    this.#padding = isPadded ? undefined : 0;
  }

  get isAllPadding(): boolean {
    return this.#length > 0 && this.#padding === this.#length - 1;
  }

  contentOf(piece: Buffer): Buffer {
    let start = 0;
    if (this.#padding === undefined) {
      this.#padding = piece[0] as number;
      start = 1;
      if (this.#padding > this.#left - 1) throw paddedBeyondEnd();
    }
    const left = this.#left - piece.length;
    const end = left >= this.#padding ? piece.length : Math.max(start, piece.length - (this.#padding - left));
    this.#left = left;
    return start === 0 && end === piece.length ? piece : piece.subarray(start, end);
  }
}

function paddedBeyondEnd(): Error {
  return connectionError(errorCode.protocolError, 'the padding of DATA exceeds the frame');
}

export interface ReceivedHeaders extends DecodedHeaders {
  readonly streamId: number;
  readonly endStream: boolean;
}

interface UnfinishedBlock {
  readonly streamId: number;
  readonly endStream: boolean;
  readonly fragments: Buffer[];
  length: number;
}

/** Frames of one block at most, empty ones included (the CONTINUATION flood: CERT VU#421644). */
const maximumFragments = 128;
const fragmentOverhead = 256;
/** Bytes of the priority that HEADERS may begin with (RFC 9113 section 6.2), which is ignored. */
const priorityLength = 5;

export class HeaderAssembly {
  readonly #decoder: HeaderDecoder;
  readonly #maximumBytes: number;
  /** While a block is incomplete, no other frame may come (RFC 9113 section 6.10). */
  unfinished: UnfinishedBlock | undefined;

  constructor(limits: HeaderLimits) {
    this.#decoder = new HeaderDecoder(limits);
    this.#maximumBytes = limits.maximumBlock ?? limits.maximumSize;
  }

  get heldBytes(): number {
    const unfinished = this.unfinished;
    return unfinished === undefined ? 0 : unfinished.length + unfinished.fragments.length * fragmentOverhead;
  }

  stop(): void {
    this.unfinished = undefined;
  }

  /**
   * @param type HEADERS or CONTINUATION @param payload copied
   * @returns the block, if this was its last frame
   * @throws {Http2Error} of scope `connection`
   */
  receive(type: number, flags: number, streamId: number, payload: Buffer): ReceivedHeaders | undefined {
    const isLast = (flags & frameFlag.endHeaders) !== 0;
    if (type === frameType.headers) {
      const fragment = headersFragment(flags, payload);
      const endStream = (flags & frameFlag.endStream) !== 0;
      if (isLast) return this.#decode(streamId, endStream, fragment);
      const { length } = fragment;
      this.unfinished = { streamId, endStream, fragments: [copyOf(fragment)], length };
      return undefined;
    }
    const unfinished = this.unfinished;
    if (unfinished === undefined || unfinished.streamId !== streamId) {
      throw connectionError(errorCode.protocolError, 'CONTINUATION without HEADERS');
    }
    unfinished.fragments.push(copyOf(payload));
    unfinished.length += payload.length;
    if (unfinished.length > this.#maximumBytes || unfinished.fragments.length > maximumFragments) {
      throw connectionError(errorCode.enhanceYourCalm, 'a header block is too long');
    }
    if (!isLast) return undefined;
    this.unfinished = undefined;
    return this.#decode(streamId, unfinished.endStream, inOnePiece(unfinished));
  }

  #decode(streamId: number, endStream: boolean, block: Buffer): ReceivedHeaders {
    try {
      const { lines, exceedLimits } = this.#decoder.decode(block);
      return { streamId, endStream, lines, exceedLimits };
    } catch (error) {
      if (error instanceof HpackError) throw connectionError(errorCode.compressionError, error.message);
      throw error;
    }
  }
}

/** A copy with memory of its own: a small buffer of Node's pool would keep 8 KiB. */
function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}

/** Shared by all connections: a block is decoded to strings before another one is read. */
let wholeBlock = Buffer.alloc(0);

function inOnePiece({ fragments, length }: UnfinishedBlock): Buffer {
  if (wholeBlock.length < length) wholeBlock = Buffer.allocUnsafeSlow(length);
  let offset = 0;
  for (const fragment of fragments) offset += fragment.copy(wholeBlock, offset);
  return wholeBlock.subarray(0, length);
}

/** HEADERS without padding and priority (RFC 9113 section 6.2). */
function headersFragment(flags: number, payload: Buffer): Buffer {
  let start = 0;
  let end = payload.length;
  if ((flags & frameFlag.padded) !== 0) {
    start = 1;
    end -= payload[0] ?? 0;
  }
  if ((flags & frameFlag.priority) !== 0) start += priorityLength;
  if (start > end) throw connectionError(errorCode.protocolError, 'the padding of HEADERS exceeds the frame');
  return start === 0 && end === payload.length ? payload : payload.subarray(start, end);
}
