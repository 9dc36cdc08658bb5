import { contentLengthValue, http2FieldValue, isHttp2FieldName } from '../fields/field-syntax.ts';
import { malformedResponse } from '../frames/http2-error.ts';

/** The head of a response, interim or final, or its trailers. */
export interface ResponseLines {
  /** `undefined` for trailers. */
  readonly status: number | undefined;
  /** Lines as they were received, without pseudo-header fields: name, value, name, value, … */
  readonly lines: string[];
  /** Bytes, where there is a `Content-Length` (RFC 9110 section 8.6). */
  readonly contentLength: number | undefined;
}

const statusCode = /^[1-9]\d\d$/;

/**
 * Parses the lines of a response (RFC 9113 section 8). Pure.
 * @param isTrailers whether they come after the content
 * @throws {Http2Error} of scope `stream`, for a malformed response (section 8.1.1). It quotes nothing of it.
 */
export function parseResponseLines(decoded: readonly string[], isTrailers: boolean): ResponseLines {
  let status: number | undefined;
  let contentLength: number | undefined;
  let start = 0;
  if (!isTrailers) {
    if (decoded[0] !== ':status' || !statusCode.test(decoded[1] ?? ''))
      throw malformedResponse('it has no status');
    status = Number(decoded[1]);
    start = 2;
  }
  for (let index = start; index < decoded.length; index += 2) {
    const name = decoded[index] as string;
    const value = decoded[index + 1] as string;
    // A second pseudo-header field fails here as well: no name has a colon.
    if (!isHttp2FieldName(name)) throw malformedResponse('a header name is invalid');
    if (!http2FieldValue.test(value)) throw malformedResponse('a header value is invalid');
    if (name === 'content-length' && !isTrailers) {
      if (contentLength !== undefined || !contentLengthValue.test(value)) {
        throw malformedResponse('its Content-Length is invalid');
      }
      contentLength = Number(value);
    }
  }
  return { status, lines: isTrailers ? [] : decoded.slice(start), contentLength };
}
