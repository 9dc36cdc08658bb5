import type { ServerResponse } from 'node:http';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { RawHeaders } from '../../apimachinery/raw-headers.ts';
import { rememberingNames } from '../../apimachinery/remembered-by-name.ts';
import { connectionSpecific } from '../../http2/fields/connection-headers.ts';
import type { InboundRequest } from '../../request/inbound.ts';
import { answerLines, hasContent, reasonPhrase } from '../exchange/answer-lines.ts';
import type { AnswerSink } from '../exchange/answer-sink.ts';
import { byteString } from '../exchange/byte-string.ts';
import { ClientSide, maximumCopied } from '../exchange/client-side.ts';
import { contentLength } from '../exchange/content-length.ts';
import { flushUnlessFollowed, type HeldHead } from './held-head.ts';

/** An answer on its way into the HTTP/1.1 connection that its request came on. */
export class Http1Answer implements AnswerSink, HeldHead {
  readonly #outgoing: ServerResponse;
  readonly #client: ClientSide;
  #bodyBegun = false;
  #hasContent = true;
  /** Bytes that the head announces, where it does. */
  #length: number | undefined;
  /** How many of them are still to come. */
  #left = 0;
  /**
   * A short body that came in one piece, as a byte string, while its end is awaited: Node writes head, body and end in
   * one piece then, of which it otherwise makes three.
   */
  #wholeBody: string | undefined;

  constructor(outgoing: ServerResponse, inbound: Required<Pick<InboundRequest, 'onFinished'>>) {
    this.#outgoing = outgoing;
    this.#client = new ClientSide(outgoing, inbound);
  }

  attach(onDrain: () => void, onGone: () => void): void {
    this.#client.attach(onDrain, onGone);
  }

  release(): void {
    // Given up, or written by `end`.
    this.#wholeBody = undefined;
    this.#client.release();
  }

  start(status: number, statusMessage: string, headers: RawHeaders): Response {
    this.#hasContent = this.#outgoing.req.method !== 'HEAD' && hasContent(status);
    // Node's type wants an array that may be written to; it only reads.
    const lines = http1Lines(answerLines(status, headers)) as string[];
    this.#outgoing.writeHead(status, reasonPhrase(statusMessage), lines);
    const length = this.#hasContent ? contentLength(headers) : undefined;
    this.#length = length;
    this.#left = length ?? 0;
    this.#client.announce(length);
    flushUnlessFollowed(this);
    return RESPONSE_ALREADY_SENT;
  }

  /** Whether the head is still held, alone or with the body. */
  get isHeld(): boolean {
    return !this.#bodyBegun || this.#wholeBody !== undefined;
  }

  /** Whether a body of a length is to come. */
  get announcesBody(): boolean {
    return this.#length !== undefined;
  }

  flush(): void {
    const body = this.#takeWholeBody();
    if (body !== undefined) this.#outgoing.write(body, 'latin1');
    else if (!this.#bodyBegun) this.#outgoing.flushHeaders();
  }

  #takeWholeBody(): string | undefined {
    const body = this.#wholeBody;
    this.#wholeBody = undefined;
    return body;
  }

  write(chunk: Uint8Array): boolean {
    if (!this.#hasContent || !this.#takes(chunk)) return true;
    this.#begin();
    return this.#client.write(chunk);
  }

  lend(chunk: Uint8Array): boolean {
    if (!this.#hasContent || !this.#takes(chunk)) return true;
    if (!this.#bodyBegun && chunk.length === this.#length && chunk.length <= maximumCopied) {
      this.#bodyBegun = true;
      this.#wholeBody = byteString(chunk);
      return true;
    }
    this.#begin();
    return this.#client.lend(chunk);
  }

  /** @returns whether it is within the announced length: what is beyond would be read as the next answer. */
  #takes(chunk: Uint8Array): boolean {
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
    // The client must not take the next answer for the rest of this one.
    if (this.#left > 0) {
      this.breakOff();
      return;
    }
    this.#bodyBegun = true;
    const body = this.#takeWholeBody();
    if (body !== undefined) this.#outgoing.end(body, 'latin1');
    else this.#client.end();
  }

  breakOff(): void {
    this.#outgoing.destroy();
  }
}

const plainLength = /^\d{1,15}$/;

/** What a line under this name has to do with the connection. */
const meaningOf = rememberingNames((given): 'connection' | 'length' | 'none' => {
  const name = given.toLowerCase();
  if (connectionSpecific.has(name)) return 'connection';
  return name === 'content-length' ? 'length' : 'none';
});

/**
 * Lines of an answer without those about the connection, which is this side's to say (RFC 9110 section 7.6.1).
 * @throws {TypeError} for two lengths, or one that is no number: the next answer would begin elsewhere for every reader
 * (RFC 9112 section 6.3).
 */
function http1Lines(headers: RawHeaders): RawHeaders {
  let hasLength = false;
  let isAboutConnection = false;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const meaning = meaningOf(headers[index] as string);
    if (meaning === 'none') continue;
    if (meaning === 'connection') isAboutConnection = true;
    else if (hasLength || !plainLength.test(headers[index + 1] as string)) {
      throw new TypeError('the length of the answer cannot be written: it is no single number');
    } else hasLength = true;
  }
  if (!isAboutConnection) return headers;
  const lines: string[] = [];
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] as string;
    if (meaningOf(name) !== 'connection') lines.push(name, headers[index + 1] as string);
  }
  return lines;
}
