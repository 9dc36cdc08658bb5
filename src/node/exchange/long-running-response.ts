import { firstHeader, type RawHeaders } from '../../apimachinery/raw-headers.ts';
import { type WatchEventBoundary, watchEventBoundary } from '../../apimachinery/watch-event-boundary.ts';
import type { OutboundRequest } from '../../request/transport.ts';
import type { OpenStream, OpenStreams } from './open-streams.ts';
import type { ResponseSink } from './response-sink.ts';

/**
 * The sink of a response to a long-running request, which the router may have to end before the destination does. A
 * watch ends cleanly between two events (last chunk, END_STREAM), and its client continues from its last
 * resourceVersion. Anything else (a log, a proxied stream) can only be broken off.
 */
export class LongRunningResponse implements ResponseSink, OpenStream {
  readonly #sink: ResponseSink;
  readonly #streams: OpenStreams;
  readonly #isWatch: boolean;
  #boundary: WatchEventBoundary | undefined;
  #isEnding = false;
  #isOver = false;

  readonly isMisplaced: (() => boolean) | undefined;

  constructor(
    sink: ResponseSink,
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
    // An error (403, 410) ends by itself.
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

  /** Drops what the destination still sends; the end of the client's exchange also ends the destination's. */
  #endNow(): void {
    this.#streams.closed(this);
    this.end();
  }
}
