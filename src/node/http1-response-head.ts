import { allHeaders, type RawHeaders } from '../apimachinery/raw-headers.ts';
import { areFieldLines, withoutSurroundingWhitespace } from '../http2/fields/field-syntax.ts';
import { TransportError } from '../proxy/transport.ts';

/** How long the body of an answer is (RFC 9112 section 6.3). */
export type BodyLength = number | 'chunked' | 'until-close';

/** The head of an HTTP/1.1 answer, read. */
export interface Http1ResponseHead {
  readonly status: number;
  readonly statusMessage: string;
  /** Lines as they came: name, value, name, value, … */
  readonly headers: readonly string[];
  /** What the header lines say; whether there is a body at all depends on the request, too. */
  readonly bodyLength: BodyLength;
  /** Whether the connection may carry another request afterwards. */
  readonly persistent: boolean;
}

const statusLine = /^HTTP\/1\.1 ([1-9]\d\d) ([\t\x20-\x7e\x80-\xff]*)$/;
const digits = /^\d{1,15}$/;
const noLines: readonly string[] = [];

/**
 * Reads the head of an answer. Pure. Takes what RFC 9112 allows a server to send and nothing that parsers read in
 * different ways: no bare LF or CR, no folded lines, no space before a colon, no two lengths. A destination that
 * sends such a thing has lost its place, and what follows on its connection could be anybody's answer.
 *
 * @param text the head as a byte string, without the empty line at its end.
 * @param alike lines of an earlier head of the same server: mostly this one has the same names in the same places, and
 *   a name that later code knows already is found faster than a new string of the same characters.
 * @throws {TransportError} `InvalidResponse`; the message quotes nothing of the head.
 */
export function parseHttp1ResponseHead(text: string, alike: readonly string[] = noLines): Http1ResponseHead {
  const firstEnd = text.indexOf('\r\n');
  let lineEnd = firstEnd === -1 ? text.length : firstEnd;
  const [, code, statusMessage] = statusLine.exec(text.slice(0, lineEnd)) ?? [];
  if (code === undefined || statusMessage === undefined)
    throw invalidResponse('its status line is malformed');
  // The only CR and LF that this leaves in the text are those between lines, NUL and the like none at all.
  if (!areFieldLines(text, lineEnd)) throw invalidResponse('a header line is malformed');
  const headers: string[] = [];
  let contentLength: number | undefined;
  let chunked = false;
  let persistent = true;
  while (lineEnd < text.length) {
    const begin = lineEnd + 2;
    const name = nameAt(text, begin, alike[headers.length]);
    const nextEnd = text.indexOf('\r\n', begin);
    lineEnd = nextEnd === -1 ? text.length : nextEnd;
    const value = withoutSurroundingWhitespace(text, begin + name.length + 1, lineEnd);
    headers.push(name, value);
    // By its length first: lower case is only needed for the three names that bear on the framing.
    if (name.length === 14 && name.toLowerCase() === 'content-length') {
      if (contentLength !== undefined || !digits.test(value)) {
        throw invalidResponse('it has more than one Content-Length, or one that is no number');
      }
      contentLength = Number(value);
    } else if (name.length === 17 && name.toLowerCase() === 'transfer-encoding') {
      if (chunked || value.toLowerCase() !== 'chunked') {
        throw invalidResponse('it has a Transfer-Encoding other than chunked');
      }
      chunked = true;
    } else if (name.length === 10 && name.toLowerCase() === 'connection') {
      if (/(?:^|,)[\t ]*close[\t ]*(?:,|$)/i.test(value)) persistent = false;
    }
  }
  // RFC 9112 section 6.1: whoever sends both may be trying to split the answer.
  if (chunked && contentLength !== undefined) {
    throw invalidResponse('it has both a Transfer-Encoding and a Content-Length');
  }
  const bodyLength = chunked ? 'chunked' : (contentLength ?? 'until-close');
  return { status: Number(code), statusMessage, headers, bodyLength, persistent };
}

/**
 * Refuses what is coded in another way than in chunks, of an answer that another parser has read: it takes the chunks
 * off, the line goes with them, and what is left would be passed on as the content itself (RFC 9112 section 6.1).
 * @throws {TransportError} `InvalidResponse`
 */
export function refuseOtherCodings(headers: RawHeaders): void {
  const codings = allHeaders(headers, 'transfer-encoding');
  if (codings.length > 1 || (codings[0] ?? 'chunked').trim().toLowerCase() !== 'chunked') {
    throw invalidResponse('it has a Transfer-Encoding other than chunked');
  }
}

const colon = 0x3a;

function nameAt(text: string, begin: number, guess: string | undefined): string {
  const isGuess =
    guess !== undefined && text.charCodeAt(begin + guess.length) === colon && text.startsWith(guess, begin);
  return isGuess ? guess : text.slice(begin, text.indexOf(':', begin));
}

export function invalidResponse(fault: string): TransportError {
  return new TransportError('InvalidResponse', `the answer is no valid HTTP/1.1: ${fault}`, {
    requestMayHaveArrived: true,
  });
}
