import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { RawHeaders } from '../apimachinery/raw-headers.ts';
import type { ServerStream } from '../http2/server/server-stream.ts';
import { answerLines, hasContent } from './answer-lines.ts';
import type { AnswerSink } from './answer-sink.ts';

/** Who has to know how an answer begins. */
export interface AnsweredRequest {
  readonly method: string;
  /** @param status of the answer whose head has been written */
  begun(status: number): void;
  onFinished(listener: () => void): void;
}

/** An answer on its way into the stream that its request came on. */
export class StreamAnswer implements AnswerSink {
  readonly #stream: ServerStream;
  readonly #request: AnsweredRequest;
  #hasContent = true;
  #onDrain: (() => void) | undefined;
  #onGone: (() => void) | undefined;

  constructor(stream: ServerStream, request: AnsweredRequest) {
    this.#stream = stream;
    this.#request = request;
  }

  attach(onDrain: () => void, onGone: () => void): void {
    this.#onDrain = onDrain;
    this.#onGone = onGone;
    this.#request.onFinished(() => this.#onGone?.());
  }

  release(): void {
    this.#onDrain = undefined;
    this.#onGone = undefined;
  }

  /** There is room behind what was written. */
  drained(): void {
    this.#onDrain?.();
  }

  start(status: number, _statusMessage: string, headers: RawHeaders): Response {
    this.#hasContent = this.#request.method !== 'HEAD' && hasContent(status);
    this.#stream.respond(status, answerLines(status, headers));
    this.#request.begun(status);
    return RESPONSE_ALREADY_SENT;
  }

  write(chunk: Uint8Array): boolean {
    return !this.#hasContent || this.#stream.write(chunk);
  }

  lend(chunk: Uint8Array): boolean {
    return !this.#hasContent || this.#stream.write(chunk);
  }

  end(): void {
    this.#stream.end();
  }

  breakOff(): void {
    this.#stream.breakOff();
  }
}
