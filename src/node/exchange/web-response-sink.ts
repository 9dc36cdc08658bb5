import type { RawHeaders } from '../../apimachinery/raw-headers.ts';
import type { InboundRequest } from '../../request/inbound.ts';
import type { ResponseSink } from './response-sink.ts';
import { hasContent, reasonPhrase, withoutForbiddenLength } from './response-status.ts';

/** Makes a web `Response`, for callers of `app.fetch()` without a server: tests, libraries. */
export class WebResponseSink implements ResponseSink {
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
    else this.#signal.addEventListener('abort', this.#onAbort);
  }

  release(): void {
    this.#signal.removeEventListener('abort', this.#onAbort);
  }

  /** As with `fetch`: after an abort a reader gets the error instead of waiting for ever. */
  readonly #onAbort = (): void => {
    this.#onGone();
    this.#controller?.error(this.#signal.reason);
  };

  start(status: number, statusMessage: string, headers: RawHeaders): Response {
    this.#hasContent = hasContent(status);
    const kept = withoutForbiddenLength(status, headers);
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
    // `Response` throws for a body with such a status (Fetch section 2.2.3).
    return new Response(this.#hasContent ? body : null, {
      status,
      statusText: reasonPhrase(statusMessage),
      headers: lines,
    });
  }

  write(chunk: Uint8Array): boolean {
    // Nothing reads it: enqueued, it would stop the destination for ever.
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
