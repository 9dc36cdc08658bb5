import { errorCode } from '../frames/frame.ts';
import { connectionFault } from '../frames/http2-error.ts';

/** RFC 9113 section 3.4. */
const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** What a client's side of a connection begins with, in however many pieces it comes. */
export class Preface {
  #received = 0;

  /** @returns what of these bytes stands behind it. @throws {Http2Error} when it is another one */
  behind(bytes: Buffer): Buffer {
    if (this.#received === preface.length) return bytes;
    const part = bytes.subarray(0, preface.length - this.#received);
    const expected = preface.subarray(this.#received, this.#received + part.length);
    if (!part.equals(expected)) {
      throw connectionFault(errorCode.protocolError, 'it does not begin as HTTP/2 does');
    }
    this.#received += part.length;
    return bytes.subarray(part.length);
  }
}
