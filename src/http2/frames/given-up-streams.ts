/** Streams that are remembered: more than one connection may have open, and few enough to go through. */
const remembered = 256;

/**
 * Streams that we have closed in front of the end of what the other side had to say. What was on its way still comes, as
 * much as the stream had granted (RFC 9113 section 5.1, "closed"); of a few hundred, the latest.
 */
export class GivenUpStreams {
  readonly #identifiers: number[] = [];
  /** Bytes that may still come on each. */
  readonly #windows: number[] = [];
  /** Where the next one goes, once all places are taken. */
  #next = 0;

  /** @param window bytes that the other side may have sent ahead on it */
  add(streamId: number, window: number): void {
    this.#identifiers[this.#next] = streamId;
    this.#windows[this.#next] = window;
    this.#next = (this.#next + 1) % remembered;
  }

  has(streamId: number): boolean {
    return this.#identifiers.includes(streamId);
  }

  /** DATA came on one. Forgotten when it was more than could have been on its way. */
  receive(streamId: number, bytes: number): void {
    const place = this.#identifiers.indexOf(streamId);
    if (place === -1) return;
    const left = (this.#windows[place] as number) - bytes;
    this.#windows[place] = left;
    if (left < 0) this.#identifiers[place] = 0;
  }
}
