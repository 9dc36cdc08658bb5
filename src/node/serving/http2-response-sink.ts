import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { RawHeaders } from '../../apimachinery/raw-headers.ts';
import type { IncomingStream, ResponseWriter } from '../../http2/server/incoming-stream.ts';
import type { ResponseSink } from '../exchange/response-sink.ts';

/** Writes a response to the HTTP/2 stream of its request. */
export class Http2ResponseSink implements ResponseSink, ResponseWriter {
  readonly #stream: IncomingStream;
  #onDrain: (() => void) | undefined;
  #onGone: (() => void) | undefined;

  constructor(stream: IncomingStream) {
    this.#stream = stream;
  }

  attach(onDrain: () => void, onGone: () => void): void {
    this.#onDrain = onDrain;
    this.#onGone = onGone;
    if (this.#stream.isClosed) onGone();
    else this.#stream.writer = this;
  }

  release(): void {
    this.#onDrain = undefined;
    this.#onGone = undefined;
  }

  onRoom(): void {
    this.#onDrain?.();
  }

  onClosed(): void {
    this.#onGone?.();
  }

  start(status: number, _statusMessage: string, headers: RawHeaders): Response {
    this.#stream.respond(status, headers);
    return RESPONSE_ALREADY_SENT;
  }

  write(chunk: Uint8Array): boolean {
    return this.#stream.write(chunk);
  }

  lend(chunk: Uint8Array): boolean {
    return this.#stream.write(chunk);
  }

  end(): void {
    this.#stream.end();
  }

  breakOff(): void {
    this.#stream.breakOff();
  }
}
