import type { RawHeaders } from '../../apimachinery/raw-headers.ts';
import { rememberingNames } from '../../apimachinery/remembered-names.ts';
import { areFieldLines, withoutSurroundingWhitespace } from '../field-syntax.ts';
import { headText } from '../http1-head-text.ts';
import { faultOfHead } from '../request-head.ts';

/** A request that every parser of HTTP/1.1 reads in the same way. */
export interface PlainRequest {
  readonly method: string;
  /** In origin-form, visible ASCII only. */
  readonly target: string;
  readonly headers: RawHeaders;
  /** All of it; `undefined` for none. A part of the bytes that were read. */
  readonly body: Uint8Array | undefined;
  /** Whether the client asks nothing more on this connection. */
  readonly isLast: boolean;
}

interface PlainFields {
  readonly headers: RawHeaders;
  readonly isLast: boolean;
  /** Bytes, from `Content-Length`. */
  readonly length: number | undefined;
}

/** Bytes. With a line break in every fourth of them there are no more lines than `maximumHeaderLines`. */
const maximumHead = 16 * 1024;

/** Characters up to which lines are remembered: what an idle connection holds must stay small. */
const maximumRemembered = 4 * 1024;

/** Methods of the Kubernetes API; all others are Node's to read. */
const requestLine = /^(GET|HEAD|POST|PUT|PATCH|DELETE) (\/[!-~]*) HTTP\/1\.1(?=\r\n)/;
const plainLength = /^(?:0|[1-9]\d{0,5})$/;

/** What a line under this name has to do with framing, or with the connection. */
const meaningOf = rememberingNames((name): 'length' | 'connection' | 'not plain' | 'none' => {
  switch (name.toLowerCase()) {
    case 'content-length':
      return 'length';
    case 'connection':
      return 'connection';
    // Another framing, another protocol, or an interim answer.
    case 'transfer-encoding':
    case 'trailer':
    case 'upgrade':
    case 'http2-settings':
    case 'expect':
      return 'not plain';
    default:
      return 'none';
  }
});

/**
 * Reads the plain requests of one connection, and nothing else: whoever has to read on where this one gives up has
 * missed nothing, for it takes a request whole or not at all. What it takes is less than RFC 9112 allows: the plainest
 * spelling of each thing, in which no two parsers are known to differ. Node's parser reads all else, and refuses what
 * is no HTTP. Pure, but for what it remembers.
 */
export class PlainRequestReader {
  /** Clients repeat themselves: behind the request line mostly stand the same bytes as in the request before. */
  #lastText = '';
  #lastFields: PlainFields | undefined;

  /**
   * @param bytes as they came from the connection, from the beginning of a request on.
   * @returns `undefined` unless they are one plain request from its first byte to its last.
   */
  read(bytes: Buffer): PlainRequest | undefined {
    const head = headText(bytes, 0);
    if (head === undefined || head.length > maximumHead) return undefined;
    const [line, method, target] = requestLine.exec(head) ?? [];
    if (line === undefined || method === undefined || target === undefined) return undefined;
    const fields = this.#fieldsIn(head.slice(line.length));
    if (fields === undefined) return undefined;
    const { headers, length, isLast } = fields;
    // RFC 9110 section 9.3.1: servers differ in what they make of it.
    if (length !== undefined && (method === 'GET' || method === 'HEAD')) return undefined;
    // More is the beginning of another request, less a body that is still on its way.
    if (bytes.length - head.length - headEndBytes !== (length ?? 0)) return undefined;
    const body =
      length === undefined || length === 0 ? undefined : bytes.subarray(head.length + headEndBytes);
    return { method, target, headers, body, isLast };
  }

  #fieldsIn(text: string): PlainFields | undefined {
    if (this.#lastFields !== undefined && text === this.#lastText) return this.#lastFields;
    const fields = parseFields(text);
    if (fields === undefined || text.length > maximumRemembered) return fields;
    this.#lastText = text;
    this.#lastFields = fields;
    return fields;
  }
}

const headEndBytes = 4;

/** @param text header lines, each behind its line end */
function parseFields(text: string): PlainFields | undefined {
  // The only CR and LF that this leaves in the text are those between lines.
  if (!areFieldLines(text, 0)) return undefined;
  const headers: string[] = [];
  let length: number | undefined;
  let isLast = false;
  let lineEnd = 0;
  while (lineEnd < text.length) {
    const begin = lineEnd + 2;
    const colon = text.indexOf(':', begin);
    const nextEnd = text.indexOf('\r\n', begin);
    lineEnd = nextEnd === -1 ? text.length : nextEnd;
    const name = text.slice(begin, colon);
    const value = withoutSurroundingWhitespace(text, colon + 1, lineEnd);
    headers.push(name, value);
    const meaning = meaningOf(name);
    if (meaning === 'none') continue;
    if (meaning === 'not plain') return undefined;
    if (meaning === 'connection') {
      // Other options name lines that are not to be passed on, or another protocol (RFC 9110 section 7.6.1).
      const option = value.toLowerCase();
      if (option !== 'keep-alive' && option !== 'close') return undefined;
      isLast ||= option === 'close';
    } else {
      if (length !== undefined || !plainLength.test(value)) return undefined;
      length = Number(value);
    }
  }
  // Node's server is to refuse it, with the words that it has for that.
  if (faultOfHead('1.1', headers) !== undefined) return undefined;
  return { headers, length, isLast };
}
