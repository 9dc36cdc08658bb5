import {
  type DecodedHeaders,
  HeaderDecoder,
  type HeaderLimits,
  HpackError,
} from '../hpack/header-decoder.ts';
import { errorCode, frameFlag, frameType } from './frame.ts';
import { connectionError } from './http2-error.ts';

export interface ReceivedHeaders extends DecodedHeaders {
  readonly streamId: number;
  readonly endStream: boolean;
}

/** A header block that is incomplete. */
export interface UnfinishedBlock {
  readonly streamId: number;
  readonly endStream: boolean;
  /** Each with memory of its own. */
  readonly fragments: Buffer[];
  length: number;
}

/** Frames of one block at most, empty ones included (the CONTINUATION flood: CERT VU#421644). */
const maximumFragments = 128;
/** Memory of each fragment in addition to its bytes, about. */
const fragmentOverhead = 256;
/** Bytes of the priority that HEADERS may begin with (RFC 9113 section 6.2), which is ignored. */
const priorityLength = 5;

/** Joins HEADERS and CONTINUATION into header blocks, and decodes them in order. */
export class HeaderAssembly {
  readonly #decoder: HeaderDecoder;
  readonly #maximumBytes: number;
  #unfinished: UnfinishedBlock | undefined;

  constructor(limits: HeaderLimits) {
    this.#decoder = new HeaderDecoder(limits);
    this.#maximumBytes = limits.maximumBlock ?? limits.maximumSize;
  }

  /** While a block is incomplete, no other frame may come (RFC 9113 section 6.10). */
  get unfinished(): UnfinishedBlock | undefined {
    return this.#unfinished;
  }

  /** Memory of the incomplete block, in bytes. */
  get heldBytes(): number {
    const unfinished = this.#unfinished;
    return unfinished === undefined ? 0 : unfinished.length + unfinished.fragments.length * fragmentOverhead;
  }

  /** Drops an incomplete block. */
  stop(): void {
    this.#unfinished = undefined;
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
      this.#unfinished = { streamId, endStream, fragments: [copyOf(fragment)], length };
      return undefined;
    }
    const unfinished = this.#unfinished;
    if (unfinished === undefined || unfinished.streamId !== streamId) {
      throw connectionError(errorCode.protocolError, 'CONTINUATION without HEADERS');
    }
    unfinished.fragments.push(copyOf(payload));
    unfinished.length += payload.length;
    if (unfinished.length > this.#maximumBytes || unfinished.fragments.length > maximumFragments) {
      throw connectionError(errorCode.enhanceYourCalm, 'a header block is too long');
    }
    if (!isLast) return undefined;
    this.#unfinished = undefined;
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
  return payload.subarray(start, end);
}
