import {
  contentLengthValue,
  type HeaderLines,
  http2FieldValue,
  isHttp2FieldName,
  isOmittedFromRequest,
  memoizeByName,
  token,
} from '../fields/header-fields.ts';
import { malformedResponse } from '../frames/http2-error.ts';
import { encodedValue, indexedLine, literalLine, nameEncoder } from '../hpack/header-encoder.ts';

const encodedName = nameEncoder(isOmittedFromRequest);
/** Visible ASCII, as `acceptRequestTarget` requires. */
const visible = /^[!-~]+$/;
/** `false` for an invalid method. */
const encodedMethod = memoizeByName((method) => token.test(method) && indexedLine(':method', method));
const encodedScheme = indexedLine(':scheme', 'https');

/**
 * The header block of a request, as a byte string.
 * @param authority host and port of the server, not the authority that the client used
 * @throws for a line that is not valid HTTP; the message quotes nothing of it.
 */
export function requestBlock(
  method: string,
  target: string,
  authority: string,
  headers: HeaderLines,
): string {
  const first = encodedMethod(method);
  if (!visible.test(target) || first === false) throw invalidCharacters('the request line');
  let block = first + encodedScheme + literalLine(':authority', authority) + literalLine(':path', target);
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = encodedName(headers[index] as string);
    if (name === '') continue;
    const value = encodedValue(headers[index + 1] as string);
    if (name === false || value === undefined) throw invalidCharacters('a header line');
    block += name + value;
  }
  return block;
}

function invalidCharacters(part: string): Error {
  return Object.assign(new Error(`${part} has characters that HTTP does not allow`), {
    code: 'ERR_INVALID_CHAR',
  });
}

/** What each line counts in addition to its bytes (RFC 9113 section 6.5.2). */
const lineOverhead = 32;
/** `:method`, `:path`, `:scheme` with `https`, and `:authority`. */
const pseudoHeaderBytes = 7 + 5 + 7 + 5 + 10 + 4 * lineOverhead;

/**
 * The size of a request head as SETTINGS_MAX_HEADER_LIST_SIZE counts it (RFC 9113 section 6.5.2), in bytes. Lines that
 * `requestBlock` leaves out are counted, too.
 * @param authority host and port of the server
 */
export function headSize(method: string, target: string, authority: string, headers: HeaderLines): number {
  let size = pseudoHeaderBytes + method.length + target.length + authority.length;
  // Byte strings: a character is a byte.
  for (const text of headers) size += text.length;
  return size + (headers.length / 2) * lineOverhead;
}

/** The head of a response, interim or final, or its trailers. */
interface ResponseLines {
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
