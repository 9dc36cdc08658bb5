/** Streams that are remembered: more than a connection may have open, and few enough to search. */
const remembered = 256;

/**
 * The latest streams that we closed before the peer ended its message. Frames in transit still arrive, with as much
 * content as the stream's window allowed (RFC 9113 section 5.1, "closed").
 */
export class GivenUpStreams {
  readonly #identifiers: number[] = [];
  /** Bytes that may still arrive on each. */
  readonly #windows: number[] = [];
  /** Where the next one is stored. */
  #next = 0;

  /** @param window bytes that the peer may have sent on it */
  add(streamId: number, window: number): void {
    this.#identifiers[this.#next] = streamId;
    this.#windows[this.#next] = window;
    this.#next = (this.#next + 1) % remembered;
  }

  has(streamId: number): boolean {
    return this.#identifiers.includes(streamId);
  }

  /** DATA arrived. A stream with more than its window allowed is forgotten. */
  receive(streamId: number, bytes: number): void {
    const place = this.#identifiers.indexOf(streamId);
    if (place === -1) return;
    const left = (this.#windows[place] as number) - bytes;
    this.#windows[place] = left;
    if (left < 0) this.#identifiers[place] = 0;
  }
}
