import type { RawHeaders } from '../../apimachinery/raw-headers.ts';
import type { InboundRequest } from '../../request/inbound.ts';
import { answerLines, hasContent, reasonPhrase } from './answer-lines.ts';
import type { AnswerSink } from './answer-sink.ts';

/** For callers of `app.fetch()` that are no server: tests, libraries. */
export class WebAnswer implements AnswerSink {
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

  /** As with `fetch`: who gave up and reads on all the same is told so, and does not wait for ever. */
  readonly #onAbort = (): void => {
    this.#onGone();
    this.#controller?.error(this.#signal.reason);
  };

  start(status: number, statusMessage: string, headers: RawHeaders): Response {
    this.#hasContent = hasContent(status);
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
