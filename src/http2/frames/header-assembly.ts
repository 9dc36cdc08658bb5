import {
  type DecodedHeaders,
  HeaderDecoder,
  type HeaderLimits,
  HpackError,
} from '../hpack/header-decoder.ts';
import { errorCode, frameFlag, frameType } from './frame.ts';
import { connectionFault } from './http2-error.ts';

/** A block of header lines, whole. */
export interface ReceivedHeaders extends DecodedHeaders {
  readonly streamId: number;
  readonly endStream: boolean;
}

/** A block whose end is still to come. */
export interface UnfinishedBlock {
  readonly streamId: number;
  readonly endStream: boolean;
  /** Each as long as what it holds. */
  readonly fragments: Buffer[];
  length: number;
}

/** Frames of one block, empty ones among them (the CONTINUATION flood: CERT VU#421644). */
const maximumFragments = 128;
/** What each fragment takes beside its own bytes, about. */
const fragmentOverhead = 256;
/** Bytes of the priority that HEADERS may begin with (RFC 9113 section 6.2); nobody heeds it. */
const priorityLength = 5;

/** Puts HEADERS and CONTINUATION together, and reads them in the order they came. */
export class HeaderAssembly {
  readonly #decoder: HeaderDecoder;
  readonly #maximumBytes: number;
  #unfinished: UnfinishedBlock | undefined;

  constructor(limits: HeaderLimits) {
    this.#decoder = new HeaderDecoder(limits);
    this.#maximumBytes = limits.maximumBlock ?? limits.maximumSize;
  }

  /** Until a block is whole no other frame may come (RFC 9113 section 6.10). */
  get isUnfinished(): boolean {
    return this.#unfinished !== undefined;
  }

  get unfinished(): UnfinishedBlock | undefined {
    return this.#unfinished;
  }

  /** Bytes that are held of it. */
  get heldBytes(): number {
    const unfinished = this.#unfinished;
    return unfinished === undefined ? 0 : unfinished.length + unfinished.fragments.length * fragmentOverhead;
  }

  /** The connection is over: what has come of a block is of no use. */
  stop(): void {
    this.#unfinished = undefined;
  }

  /**
   * @param type HEADERS or CONTINUATION @param payload lent
   * @returns the block, if this was the last of it.
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
      throw connectionFault(errorCode.protocolError, 'CONTINUATION continues nothing');
    }
    unfinished.fragments.push(copyOf(payload));
    unfinished.length += payload.length;
    if (unfinished.length > this.#maximumBytes || unfinished.fragments.length > maximumFragments) {
      throw connectionFault(errorCode.enhanceYourCalm, 'a block of header lines does not end');
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
      if (error instanceof HpackError) throw connectionFault(errorCode.compressionError, error.message);
      throw error;
    }
  }
}

/** A buffer of its own: small ones of Node's pool would keep 8 KiB each. */
function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}

/** One for all connections: strings are made of a block before another one is read. */
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
  if (start > end) throw connectionFault(errorCode.protocolError, 'HEADERS is padded beyond its end');
  return payload.subarray(start, end);
}
