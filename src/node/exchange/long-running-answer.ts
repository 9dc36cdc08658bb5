import { firstHeader, type RawHeaders } from '../../apimachinery/raw-headers.ts';
import { type WatchEventBoundary, watchEventBoundary } from '../../apimachinery/watch-event-boundary.ts';
import type { OutboundRequest } from '../../request/transport.ts';
import type { AnswerSink } from './answer-sink.ts';
import type { OpenStream, OpenStreams } from './open-streams.ts';

/**
 * The answer to a long-running request, which the router may have to end before the destination does. A watch ends
 * between two events and in good order (last chunk, END_STREAM), so that its client watches on from its last
 * resourceVersion; anything else (a log, a proxied stream) has no such place and can only be broken off.
 *
 * Wraps the sink of long-running answers alone: nothing is added on the way of all others.
 */
export class LongRunningAnswer implements AnswerSink, OpenStream {
  readonly #sink: AnswerSink;
  readonly #streams: OpenStreams;
  readonly #isWatch: boolean;
  #boundary: WatchEventBoundary | undefined;
  #isEnding = false;
  #isOver = false;

  readonly isMisplaced: (() => boolean) | undefined;

  constructor(
    sink: AnswerSink,
    { isWatch = false, isMisplaced }: Pick<OutboundRequest, 'isWatch' | 'isMisplaced'>,
    streams: OpenStreams,
  ) {
    this.#sink = sink;
    this.#isWatch = isWatch;
    this.isMisplaced = isMisplaced;
    this.#streams = streams;
  }

  attach(onDrain: () => void, onGone: () => void): void {
    this.#sink.attach(onDrain, onGone);
  }

  release(): void {
    this.#streams.closed(this);
    this.#sink.release();
  }

  start(status: number, statusMessage: string, headers: RawHeaders): Response {
    const response = this.#sink.start(status, statusMessage, headers);
    // A refusal (403, 410) has an end of its own.
    if (this.#isWatch && status === 200) {
      this.#boundary = watchEventBoundary(
        firstHeader(headers, 'content-type'),
        firstHeader(headers, 'content-encoding'),
      );
    }
    this.#streams.opened(this);
    return response;
  }

  write(chunk: Uint8Array): boolean {
    if (this.#isOver) return true;
    if (this.#boundary === undefined) return this.#sink.write(chunk);
    const end = this.#boundary.follow(chunk);
    if (!this.#isEnding || end === 0) return this.#sink.write(chunk);
    this.#sink.write(chunk.subarray(0, end));
    this.#endNow();
    return true;
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#sink.end();
  }

  breakOff(error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#sink.breakOff(error);
  }

  endSoon(): void {
    if (this.#boundary === undefined) return;
    this.#isEnding = true;
    if (this.#boundary.isAtEnd) this.#endNow();
  }

  cut(): void {
    this.breakOff(new Error('the router is shutting down'));
  }

  /** What follows from the destination is dropped; the end of the client's exchange ends that one, too. */
  #endNow(): void {
    this.#streams.closed(this);
    this.end();
  }
}
