import { errorCode } from '../frames/frame.ts';
import type { ClosedState } from '../frames/frame-rules.ts';
import { connectionError } from '../frames/http2-error.ts';

/** Streams that are remembered: more than a connection may have open, and few enough to search. */
const remembered = 256;

/**
 * What is known of a client's streams that are not open (RFC 9113 section 5.1): the highest identifier, and the latest
 * streams that we closed before the client ended its message. Frames in transit still arrive on those, with as much
 * content as the stream's window allowed.
 */
export class ClosedStreams {
  readonly #givenUp: number[] = [];
  /** Bytes that may still arrive on each. */
  readonly #windows: number[] = [];
  /** Where the next one is stored. */
  #next = 0;
  #lastId = 0;
  /** Whether the client was told that no stream after the last one is processed. */
  isGoAwaySent = false;

  /** The highest stream identifier that was opened. */
  get lastId(): number {
    return this.#lastId;
  }

  stateOf(streamId: number): ClosedState {
    // Only servers open even ones, and we open none.
    if (streamId % 2 === 0) return 'idle';
    if (streamId > this.#lastId) return this.isGoAwaySent ? 'after our GOAWAY' : 'idle';
    return this.#givenUp.includes(streamId) ? 'closed by us' : 'closed';
  }

  /** The client used a new identifier. @throws {Http2Error} RFC 9113 section 5.1.1 */
  opened(streamId: number): void {
    if (streamId % 2 === 0)
      throw connectionError(errorCode.protocolError, 'a client must use odd stream identifiers');
    this.#lastId = streamId;
  }

  /** A stream was closed before its request was whole. @param window bytes that may be in transit */
  giveUp(streamId: number, window: number): void {
    this.#givenUp[this.#next] = streamId;
    this.#windows[this.#next] = window;
    this.#next = (this.#next + 1) % remembered;
  }

  /** DATA arrived. A stream with more than its window allowed is forgotten. */
  receive(streamId: number, bytes: number): void {
    const place = this.#givenUp.indexOf(streamId);
    if (place === -1) return;
    const left = (this.#windows[place] as number) - bytes;
    this.#windows[place] = left;
    if (left < 0) this.#givenUp[place] = 0;
  }
}
