import { fieldValue, isFieldName } from '../frames/field-lines.ts';
import { malformedAnswer } from '../frames/http2-error.ts';

/** The head of an answer, interim or final, or its trailers. */
export interface ResponseLines {
  /** `undefined` for trailers. */
  readonly status: number | undefined;
  /** Lines as they came, without pseudo-header fields: name, value, name, value, … */
  readonly lines: string[];
  /** Bytes, where there is a `Content-Length` (RFC 9110 section 8.6). */
  readonly contentLength: number | undefined;
}

const statusCode = /^[1-9]\d\d$/;
const digits = /^\d{1,15}$/;

/**
 * Reads the lines of an answer as RFC 9113 section 8 has them. Pure.
 * @param isTrailers they stand behind the data
 * @throws {Http2Error} of scope `stream`, for a malformed answer (section 8.1.1); it quotes nothing of it.
 */
export function parseResponseLines(decoded: readonly string[], isTrailers: boolean): ResponseLines {
  let status: number | undefined;
  let contentLength: number | undefined;
  let start = 0;
  if (!isTrailers) {
    if (decoded[0] !== ':status' || !statusCode.test(decoded[1] ?? ''))
      throw malformedAnswer('it has no status');
    status = Number(decoded[1]);
    start = 2;
  }
  for (let index = start; index < decoded.length; index += 2) {
    const name = decoded[index] as string;
    const value = decoded[index + 1] as string;
    // A second pseudo-header field fails here as well: no name has a colon.
    if (!isFieldName(name)) throw malformedAnswer('the name of a header line is not allowed');
    if (!fieldValue.test(value)) throw malformedAnswer('the value of a header line is not allowed');
    if (name === 'content-length' && !isTrailers) {
      if (contentLength !== undefined || !digits.test(value)) {
        throw malformedAnswer('it has more than one Content-Length, or one that is no number');
      }
      contentLength = Number(value);
    }
  }
  return { status, lines: isTrailers ? [] : decoded.slice(start), contentLength };
}
