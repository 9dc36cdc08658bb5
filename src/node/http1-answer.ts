import type { ServerResponse } from 'node:http';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { RawHeaders } from '../apimachinery/raw-headers.ts';
import type { InboundRequest } from '../proxy/inbound.ts';
import { answerLines, hasContent, reasonPhrase } from './answer-lines.ts';
import type { AnswerSink } from './answer-sink.ts';
import { ClientSide } from './client-side.ts';
import { contentLength } from './content-length.ts';

/** Milliseconds that a head waits for the beginning of a body that it announces. */
const headAlone = 5;

/** An answer on its way into the HTTP/1.1 connection that its request came on. */
export class Http1Answer implements AnswerSink {
  readonly #outgoing: ServerResponse;
  readonly #client: ClientSide;
  #bodyBegun = false;
  #hasContent = true;

  constructor(outgoing: ServerResponse, inbound: Required<Pick<InboundRequest, 'onFinished'>>) {
    this.#outgoing = outgoing;
    this.#client = new ClientSide(outgoing, inbound);
  }

  attach(onDrain: () => void, onGone: () => void): void {
    this.#client.attach(onDrain, onGone);
  }

  release(): void {
    this.#client.release();
  }

  start(status: number, statusMessage: string, headers: RawHeaders): Response {
    this.#hasContent = hasContent(status);
    // Node's type wants an array that may be written to; it only reads.
    const lines = answerLines(status, headers) as string[];
    this.#outgoing.writeHead(status, reasonPhrase(statusMessage), lines);
    // A watch has a head long before its first event: send it now, but not apart from a body that is here already.
    const length = contentLength(headers);
    this.#client.announce(length);
    setImmediate(length === undefined ? flushHead : flushHeadSoon, this);
    return RESPONSE_ALREADY_SENT;
  }

  /** Whether more than the head has been written. */
  get hasBegun(): boolean {
    return this.#bodyBegun;
  }

  flush(): void {
    if (!this.#bodyBegun) this.#outgoing.flushHeaders();
  }

  write(chunk: Uint8Array): boolean {
    if (!this.#hasContent) return true;
    this.#bodyBegun = true;
    return this.#client.write(chunk);
  }

  lend(chunk: Uint8Array): boolean {
    if (!this.#hasContent) return true;
    this.#bodyBegun = true;
    return this.#client.lend(chunk);
  }

  end(): void {
    this.#bodyBegun = true;
    this.#client.end();
  }

  breakOff(): void {
    this.#outgoing.destroy();
  }
}

function flushHead(answer: Http1Answer): void {
  answer.flush();
}

/** An announced body follows in the server's next write: sent apart, the head would be a TLS record of its own. */
function flushHeadSoon(answer: Http1Answer): void {
  if (!answer.hasBegun) setTimeout(flushHead, headAlone, answer);
}
