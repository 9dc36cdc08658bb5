import { errorCode } from '../frames/frame.ts';
import { connectionError } from '../frames/http2-error.ts';

/** RFC 9113 section 3.4. */
const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** Checks the connection preface of a client, in whatever pieces it arrives. */
export class Preface {
  #received = 0;

  /** @returns the bytes after the preface. @throws {Http2Error} if the preface is wrong */
  skip(bytes: Buffer): Buffer {
    if (this.#received === preface.length) return bytes;
    const part = bytes.subarray(0, preface.length - this.#received);
    const expected = preface.subarray(this.#received, this.#received + part.length);
    if (!part.equals(expected)) {
      throw connectionError(errorCode.protocolError, 'the connection preface is wrong');
    }
    this.#received += part.length;
    return bytes.subarray(part.length);
  }
}
