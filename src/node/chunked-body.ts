import { maximumAnswerHeaderBytes, maximumAnswerLines } from './answer-limits.ts';
import { invalidResponse } from './http1-response-head.ts';

/** Bytes of one size line with its extensions, or of one trailer line. Go's client allows 4 KiB. */
const maximumLine = 4_096;
/** Extensions (RFC 9112 section 7.1.1) are skipped; nothing in Kubernetes sends any. */
const sizeLine = /^([0-9A-Fa-f]{1,12})[\t ]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/;

/**
 * Takes the chunked coding (RFC 9112 section 7.1) off a body, however its bytes are cut into pieces. Line ends are
 * CRLF and nothing else. Chunks are handed on as they come, uncopied; trailer lines are read and dropped.
 */
export class ChunkedBody {
  readonly #onData: (data: Buffer) => void;
  #state: 'size' | 'data' | 'data-end' | 'trailers' | 'over' = 'size';
  /** Bytes of the chunk that are still to come. */
  #left = 0;
  /** Of a line whose end has not come yet. */
  #line = '';
  #trailerBytes = 0;
  #trailerLines = 0;

  constructor(onData: (data: Buffer) => void) {
    this.#onData = onData;
  }

  /** Whether the last chunk and its trailers have been read. */
  get isOver(): boolean {
    return this.#state === 'over';
  }

  /**
   * @returns how many bytes of `bytes` belong to the body; fewer than all only where it is over.
   * @throws {TransportError} `InvalidResponse`
   */
  push(bytes: Buffer): number {
    let offset = 0;
    while (offset < bytes.length && this.#state !== 'over') {
      if (this.#state === 'data') {
        const end = Math.min(bytes.length, offset + this.#left);
        this.#left -= end - offset;
        if (this.#left === 0) this.#state = 'data-end';
        this.#onData(bytes.subarray(offset, end));
        offset = end;
      } else {
        offset = this.#takeLine(bytes, offset);
      }
    }
    return offset;
  }

  #takeLine(bytes: Buffer, offset: number): number {
    const lineFeed = bytes.indexOf(0x0a, offset);
    const end = lineFeed === -1 ? bytes.length : lineFeed + 1;
    if (this.#line.length + end - offset > maximumLine)
      throw invalidResponse('a line of its body is too long');
    this.#line += bytes.toString('latin1', offset, end);
    if (lineFeed !== -1) {
      if (!this.#line.endsWith('\r\n')) throw invalidResponse('a line of its body ends without a CRLF');
      const line = this.#line.slice(0, -2);
      this.#line = '';
      this.#lineRead(line);
    }
    return end;
  }

  #lineRead(line: string): void {
    if (this.#state === 'data-end') {
      if (line !== '') throw invalidResponse('a chunk is longer than its size');
      this.#state = 'size';
    } else if (this.#state === 'size') {
      const size = sizeLine.exec(line)?.[1];
      if (size === undefined) throw invalidResponse('the size of a chunk is malformed');
      this.#left = Number.parseInt(size, 16);
      this.#state = this.#left === 0 ? 'trailers' : 'data';
    } else if (line === '') {
      this.#state = 'over';
    } else {
      this.#trailerBytes += line.length;
      this.#trailerLines++;
      if (this.#trailerBytes > maximumAnswerHeaderBytes) throw invalidResponse('its trailers are too long');
      if (this.#trailerLines > maximumAnswerLines) throw invalidResponse('it has too many trailers');
    }
  }
}
