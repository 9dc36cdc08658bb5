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

  start(status: number, statusMessage: string, headers: RawHeaders): Response {
    this.outgoing.writeHead(status, statusMessage, [...headers]);
    this.watchDrain();
    // A watch has a head long before its first event: send it now, but not apart from a body that is here already.
    setImmediate(() => {
      if (!this.#bodyBegun) this.outgoing.flushHeaders();
    });
    return RESPONSE_ALREADY_SENT;
  }

  write(chunk: Uint8Array): boolean {
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
  start(status: number, _statusMessage: string, headers: RawHeaders): Response {
    // The lines go past writeHead(), which would collect them in an object first; the code is for the server.
    this.outgoing.statusCode = status;
    this.outgoing.stream.respond(appendHttp2Lines([':status', String(status)], headers));
    this.watchDrain();
    return RESPONSE_ALREADY_SENT;
  }

  write(chunk: Uint8Array): boolean {
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
    const lines = new Headers();
    for (let index = 0; index + 1 < headers.length; index += 2) {
      lines.append(headers[index] as string, headers[index + 1] as string);
    }
    // These have no body, and `Response` refuses one (Fetch section 2.2.3).
    const withoutBody = status === 204 || status === 205 || status === 304;
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
    return new Response(withoutBody ? null : body, { status, statusText: statusMessage, headers: lines });
  }

  write(chunk: Uint8Array): boolean {
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
