import { type ServerResponse, STATUS_CODES } from 'node:http';
import {
  connectionSpecific,
  contentLengthValue,
  GatheredWrites,
  type HeldBytes,
  hasContent,
  mayHaveLength,
  type ResponseWriter,
} from '../../../packages/http2/shared.ts';
import type { RawHeaders } from '../../apimachinery/raw-headers.ts';
import { rememberingNames } from '../../apimachinery/remembered-by-name.ts';
import type { InboundRequest } from '../../request/inbound.ts';
import { contentLength, type ResponseSink, reasonPhrase } from '../exchange/response-sink.ts';

/** Milliseconds that a head waits for the first piece of a body that it announces. */
const headWaitMilliseconds = 5;

/** Bytes. Up to this size a copy of a lent piece is cheaper than a reused buffer. */
const maximumCopied = 4_096;

export class Http1ResponseSink implements ResponseSink {
  readonly #outgoing: ServerResponse;
  /** Dropped in `attach`: an open watch must not keep its request in memory. */
  #inbound: Required<Pick<InboundRequest, 'onFinished'>> | undefined;
  #writer: ResponseWriter | undefined;
  #awaitsDrain = false;
  #bodyBegun = false;
  #isHeadSent = false;
  #hasContent = true;
  #length: number | undefined;
  #left = 0;
  /**
   * A short body that arrived in one piece, as a byte string, until its end. Node then writes head, body and end in one
   * piece instead of three.
   */
  #wholeBody: string | undefined;
  #gathered: GatheredWrites | undefined;

  readonly held: HeldBytes | undefined;
  readonly #onWhole: (() => void) | undefined;

  constructor(
    outgoing: ServerResponse,
    inbound: Required<Pick<InboundRequest, 'onFinished'>>,
    held?: HeldBytes,
    onWhole?: () => void,
  ) {
    this.#outgoing = outgoing;
    this.held = held;
    this.#onWhole = onWhole;
    this.#inbound = inbound;
  }

  get hasBegun(): boolean {
    return this.#outgoing.headersSent;
  }

  attach(writer: ResponseWriter): void {
    this.#writer = writer;
    this.#inbound?.onFinished(() => this.#writer?.onGone());
    this.#inbound = undefined;
  }

  release(): void {
    this.#wholeBody = undefined;
    this.#writer = undefined;
  }

  respond(status: number, headers: RawHeaders, given = ''): void {
    this.#hasContent = this.#outgoing.req.method !== 'HEAD' && hasContent(status);
    // Node's type is not readonly, but Node does not change the array.
    const lines = http1Lines(status, headers) as string[];
    // HTTP/2 has none, and some clients stumble over a status line without one.
    const reason = reasonPhrase(given) || (STATUS_CODES[status] ?? '');
    this.#outgoing.writeHead(status, reason, lines);
    const length = this.#hasContent ? contentLength(headers) : undefined;
    this.#length = length;
    this.#left = length ?? 0;
    this.#flushHeadSoon();
  }

  /**
   * Sends the head soon, together with a body that is here by then. A watch has a head long before its first event. With a
   * Content-Length the body follows in the server's next write: without it the head would be a TLS record of its own.
   */
  #flushHeadSoon(): void {
    setImmediate(this.#length === undefined ? flush : afterTurn, this);
  }

  get isHeadPending(): boolean {
    return !this.#bodyBegun || this.#wholeBody !== undefined;
  }

  flush(): void {
    const body = this.#takeWholeBody();
    if (body !== undefined) this.#outgoing.write(body, 'latin1');
    else if (!this.#bodyBegun) {
      this.#isHeadSent = true;
      this.#outgoing.flushHeaders();
    }
  }

  #takeWholeBody(): string | undefined {
    const body = this.#wholeBody;
    this.#wholeBody = undefined;
    return body;
  }

  write(chunk: Uint8Array): boolean {
    if (!this.#hasContent || !this.#isWithinLength(chunk)) return true;
    const length = this.#length ?? 0;
    const isWhole = !this.#bodyBegun && chunk.length === this.#length;
    if (isWhole && !this.#isHeadSent && length <= maximumCopied) {
      this.#bodyBegun = true;
      this.#wholeBody = byteString(chunk);
      return true;
    }
    this.#begin();
    if (this.#gathered === undefined) {
      if (chunk.length <= maximumCopied && length <= maximumCopied) return this.#writeNow(Buffer.from(chunk));
      this.#gathered = new GatheredWrites(this.#outgoing, () => this.#writer?.onRoom(), this.held);
    }
    return this.#gathered.add(chunk);
  }

  #writeNow(chunk: Uint8Array): boolean {
    // Gathered bytes come first.
    this.#gathered?.flush();
    if (this.#outgoing.write(chunk)) return true;
    if (!this.#awaitsDrain) {
      this.#awaitsDrain = true;
      this.#outgoing.once('drain', () => {
        this.#awaitsDrain = false;
        this.#writer?.onRoom();
      });
    }
    return false;
  }

  /** Counts a chunk. @returns false beyond the Content-Length: the client would read it as the next response */
  #isWithinLength(chunk: Uint8Array): boolean {
    if (this.#length === undefined) return true;
    this.#left -= chunk.length;
    if (this.#left >= 0) return true;
    this.breakOff();
    return false;
  }

  #begin(): void {
    if (this.#wholeBody !== undefined) this.flush();
    this.#bodyBegun = true;
  }

  end(): void {
    // The client would read the next response as the rest of this one.
    if (this.#left > 0) {
      this.breakOff();
      return;
    }
    this.#bodyBegun = true;
    const body = this.#takeWholeBody();
    if (body !== undefined) this.#outgoing.end(body, 'latin1');
    else {
      this.#gathered?.flush();
      this.#outgoing.end();
    }
    this.#onWhole?.();
  }

  breakOff(): void {
    this.#outgoing.destroy();
  }
}

const kindOfName = rememberingNames((given): 'connection' | 'length' | 'none' => {
  const name = given.toLowerCase();
  if (connectionSpecific.has(name)) return 'connection';
  return name === 'content-length' ? 'length' : 'none';
});

/**
 * Header lines without connection-specific ones, which are set for our own connection (RFC 9110 section 7.6.1), and
 * without a Content-Length that the status must not have.
 * @throws {TypeError} for several Content-Lengths, or an invalid one: readers would disagree where the next response
 *   begins (RFC 9112 section 6.3)
 */
function http1Lines(status: number, headers: RawHeaders): RawHeaders {
  const dropsLength = !mayHaveLength(status);
  let hasLength = false;
  let dropsAny = false;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const meaning = kindOfName(headers[index] as string);
    if (meaning === 'none') continue;
    if (meaning === 'connection' || dropsLength) dropsAny = true;
    else if (hasLength || !contentLengthValue.test(headers[index + 1] as string)) {
      throw new TypeError('the response cannot be written: its Content-Length is not a single number');
    } else hasLength = true;
  }
  if (!dropsAny) return headers;
  const lines: string[] = [];
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] as string;
    const meaning = kindOfName(name);
    if (meaning === 'connection' || (meaning === 'length' && dropsLength)) continue;
    lines.push(name, headers[index + 1] as string);
  }
  return lines;
}

// Functions instead of closures: these run for every response.

function afterTurn(sink: Http1ResponseSink): void {
  if (sink.isHeadPending) setTimeout(flush, headWaitMilliseconds, sink);
}

function flush(sink: Http1ResponseSink): void {
  sink.flush();
}

/** Bytes as a string of as many characters (isomorphic decoding); costs as much as a copy. */
function byteString(bytes: Uint8Array): string {
  const buffer =
    bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return buffer.toString('latin1');
}
