import { IncomingMessage } from 'node:http';
import { linesForLogs } from '../../http2/fields/header-fields.ts';

/** What frames a chunk besides its length in hexadecimal (RFC 9112 section 7.1). */
const chunkFraming = 4;
/** The last chunk, and the end of the trailers. */
const lastChunk = 5;
/** `GET / HTTP/1.1`: two spaces, the version, the line's end; and the empty line behind the head. */
const aroundRequestLine = 14;

/** A request over HTTP/1.1 that knows how many bytes of its connection are its own. */
export class Http1Message extends IncomingMessage {
  #contentBytes = 0;
  #isChunked: boolean | undefined;

  /** Bytes of the head: exact where each line has one space behind its colon, as clients write it. */
  get headBytes(): number {
    const { method = '', url = '', rawHeaders } = this;
    let bytes = method.length + url.length + aroundRequestLine;
    for (const part of rawHeaders) bytes += part.length;
    // Each line has a colon, a space and its end.
    return bytes + 2 * rawHeaders.length;
  }

  /** Bytes of the content so far, with their framing. */
  get contentBytes(): number {
    return this.#contentBytes;
  }

  override push(chunk: unknown, encoding?: BufferEncoding): boolean {
    this.#isChunked ??= this.headers['transfer-encoding'] !== undefined;
    if (chunk instanceof Uint8Array) {
      this.#contentBytes += chunk.length;
      if (this.#isChunked) this.#contentBytes += chunk.length.toString(16).length + chunkFraming;
    } else if (chunk === null && this.#isChunked) this.#contentBytes += lastChunk;
    return super.push(chunk, encoding);
  }

  /** Drops the lines of the head but the one by which clients are told apart in logs, everywhere they are known. */
  forgetHead(): void {
    const lines = this.rawHeaders;
    const kept = linesForLogs(lines);
    lines.length = 0;
    lines.push(...kept);
    this.headers = {};
  }
}
