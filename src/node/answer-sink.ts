import type { ServerResponse } from 'node:http';
import type { Http2ServerResponse } from 'node:http2';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { RawHeaders } from '../apimachinery/raw-headers.ts';
import type { InboundRequest } from '../proxy/inbound.ts';
import { appendHttp2Lines } from './connection-headers.ts';
import { isClosed, NodeInboundRequest } from './node-inbound.ts';

/** Where the answer to one request goes. */
export interface AnswerSink {
  /** Tells when the client can take more, and when it has gone. Undone by `release`. */
  attach(onDrain: () => void, onGone: () => void): void;
  /** Stops watching the client; nothing was written yet and somebody else answers. */
  release(): void;
  /** @throws when the head cannot be written; nothing was written then. */
  start(status: number, statusMessage: string, headers: RawHeaders): Response;
  /** @returns false when the client is slower: hold until `onDrain`. */
  write(chunk: Uint8Array): boolean;
  end(): void;
  /** The answer broke off: the client must not take what it has for the whole. */
  breakOff(error: Error): void;
}

/** On the server the answer goes straight into the connection it belongs to; else into a web `Response`. */
export function answerSinkFor(inbound: InboundRequest): AnswerSink {
  if (!(inbound instanceof NodeInboundRequest)) return new WebAnswer(inbound);
  const { outgoing } = inbound;
  return 'stream' in outgoing ? new Http2Answer(outgoing) : new Http1Answer(outgoing);
}

/** What follows the head of these is no content of theirs (RFC 9110 sections 15.3.5, 15.3.6 and 15.4.5). */
const statusesWithoutContent: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * A 204 must not name a length (RFC 9110 section 8.6), and a 205 has none to name; a client on HTTP/2 would take
 * an answer that falls short of its length for broken (RFC 9113 section 8.1.1). A 304 names that of another answer.
 */
function answerLines(status: number, headers: RawHeaders): string[] {
  const lines: string[] = [];
  const withoutLength = status === 204 || status === 205;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] as string;
    if (withoutLength && name.toLowerCase() === 'content-length') continue;
    lines.push(name, headers[index + 1] as string);
  }
  return lines;
}

/** Clients have to ignore it (RFC 9112 section 4); Node refuses to write one with characters beyond Latin-1. */
function reasonPhrase(text: string): string {
  return /^[\x20-\x7e\t]*$/.test(text) ? text : '';
}

/** What an HTTP/1.1 and an HTTP/2 answer have in common: Node's own response object takes the body. */
abstract class OutgoingAnswer<Outgoing extends ServerResponse | Http2ServerResponse> {
  protected readonly outgoing: Outgoing;
  #onDrain: (() => void) | undefined;
  #onGone: (() => void) | undefined;

  constructor(outgoing: Outgoing) {
    this.outgoing = outgoing;
  }

  attach(onDrain: () => void, onGone: () => void): void {
    if (isClosed(this.outgoing)) {
      onGone();
      return;
    }
    this.#onDrain = onDrain;
    this.#onGone = onGone;
    this.outgoing.on('close', onGone);
  }

  release(): void {
    if (this.#onGone !== undefined) this.outgoing.off('close', this.#onGone);
    if (this.#onDrain !== undefined) this.outgoing.off('drain', this.#onDrain);
  }

  /** Drains are only listened for once there is a body. */
  protected watchDrain(): void {
    if (this.#onDrain !== undefined) this.outgoing.on('drain', this.#onDrain);
  }
}

class Http1Answer extends OutgoingAnswer<ServerResponse> implements AnswerSink {
  #bodyBegun = false;
  #hasContent = true;

  start(status: number, statusMessage: string, headers: RawHeaders): Response {
    this.#hasContent = !statusesWithoutContent.has(status);
    this.outgoing.writeHead(status, reasonPhrase(statusMessage), answerLines(status, headers));
    this.watchDrain();
    // A watch has a head long before its first event: send it now, but not apart from a body that is here already.
    setImmediate(() => {
      if (!this.#bodyBegun) this.outgoing.flushHeaders();
    });
    return RESPONSE_ALREADY_SENT;
  }

  write(chunk: Uint8Array): boolean {
    if (!this.#hasContent) return true;
    this.#bodyBegun = true;
    return this.outgoing.write(chunk);
  }

  end(): void {
    this.#bodyBegun = true;
    this.outgoing.end();
  }

  breakOff(): void {
    this.outgoing.destroy();
  }
}

class Http2Answer extends OutgoingAnswer<Http2ServerResponse> implements AnswerSink {
  #hasContent = true;

  start(status: number, _statusMessage: string, headers: RawHeaders): Response {
    // The lines go past writeHead(), which would collect them in an object first; the code is for the server.
    this.outgoing.statusCode = status;
    this.#hasContent = !statusesWithoutContent.has(status);
    const lines = answerLines(status, headers);
    this.outgoing.stream.respond(appendHttp2Lines([':status', String(status)], lines));
    this.watchDrain();
    return RESPONSE_ALREADY_SENT;
  }

  write(chunk: Uint8Array): boolean {
    if (!this.#hasContent) return true;
    return this.outgoing.stream.write(chunk);
  }

  end(): void {
    this.outgoing.stream.end();
  }

  breakOff(error: Error): void {
    // Resets with INTERNAL_ERROR. close() with that code would end the stream first, and the part pass for the whole.
    this.outgoing.stream.destroy(error);
  }
}

/** For callers of `app.fetch()` that are no server: tests, libraries. */
class WebAnswer implements AnswerSink {
  readonly #signal: AbortSignal;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #hasContent = true;
  #onDrain: () => void = () => {};
  #onGone: () => void = () => {};

  constructor(inbound: InboundRequest) {
    this.#signal = inbound.signal;
  }

  attach(onDrain: () => void, onGone: () => void): void {
    this.#onDrain = onDrain;
    this.#onGone = onGone;
    if (this.#signal.aborted) onGone();
    else this.#signal.addEventListener('abort', onGone);
  }

  release(): void {
    this.#signal.removeEventListener('abort', this.#onGone);
  }

  start(status: number, statusMessage: string, headers: RawHeaders): Response {
    this.#hasContent = !statusesWithoutContent.has(status);
    const kept = answerLines(status, headers);
    const lines = new Headers();
    for (let index = 0; index + 1 < kept.length; index += 2) {
      lines.append(kept[index] as string, kept[index + 1] as string);
    }
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#onDrain(),
        cancel: () => this.#onGone(),
      },
      { highWaterMark: 1 },
    );
    // `Response` refuses a body where there is none to be (Fetch section 2.2.3).
    return new Response(this.#hasContent ? body : null, {
      status,
      statusText: reasonPhrase(statusMessage),
      headers: lines,
    });
  }

  write(chunk: Uint8Array): boolean {
    // Nobody reads it: enqueued, it would hold up the destination for ever.
    if (!this.#hasContent) return true;
    this.#controller?.enqueue(chunk);
    return (this.#controller?.desiredSize ?? 0) > 0;
  }

  end(): void {
    this.release();
    this.#controller?.close();
  }

  breakOff(error: Error): void {
    this.release();
    this.#controller?.error(error);
  }
}
