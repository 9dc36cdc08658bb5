import type { ServerResponse } from 'node:http';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { RawHeaders } from '../apimachinery/raw-headers.ts';
import type { InboundRequest } from '../proxy/inbound.ts';
import { answerLines, hasContent, reasonPhrase } from './answer-lines.ts';
import type { AnswerSink } from './answer-sink.ts';
import { byteString } from './byte-string.ts';
import { ClientSide, maximumCopied } from './client-side.ts';
import { contentLength } from './content-length.ts';
import { flushUnlessFollowed, type HeldHead } from './held-head.ts';

/** An answer on its way into the HTTP/1.1 connection that its request came on. */
export class Http1Answer implements AnswerSink, HeldHead {
  readonly #outgoing: ServerResponse;
  readonly #client: ClientSide;
  #bodyBegun = false;
  #hasContent = true;
  /** Bytes that the head announces, where it does. */
  #length: number | undefined;
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
    this.#hasContent = hasContent(status);
    // Node's type wants an array that may be written to; it only reads.
    const lines = answerLines(status, headers) as string[];
    this.#outgoing.writeHead(status, reasonPhrase(statusMessage), lines);
    const length = contentLength(headers);
    this.#length = length;
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
    if (!this.#hasContent) return true;
    this.#begin();
    return this.#client.write(chunk);
  }

  lend(chunk: Uint8Array): boolean {
    if (!this.#hasContent) return true;
    if (!this.#bodyBegun && chunk.length === this.#length && chunk.length <= maximumCopied) {
      this.#bodyBegun = true;
      this.#wholeBody = byteString(chunk);
      return true;
    }
    this.#begin();
    return this.#client.lend(chunk);
  }

  /** Bytes beyond the announced length are the framing's to refuse; here they only must not come first. */
  #begin(): void {
    if (this.#wholeBody !== undefined) this.flush();
    this.#bodyBegun = true;
  }

  end(): void {
    this.#bodyBegun = true;
    const body = this.#takeWholeBody();
    if (body !== undefined) this.#outgoing.end(body, 'latin1');
    else this.#client.end();
  }

  breakOff(): void {
    this.#outgoing.destroy();
  }
}
