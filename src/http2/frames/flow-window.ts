import { maximumWindow } from './frame.ts';

/** How many bytes we may still send (RFC 9113 section 6.9). Below 0 after the server has made its windows smaller. */
export class SendWindow {
  #left: number;

  constructor(size: number) {
    this.#left = size;
  }

  get left(): number {
    return this.#left;
  }

  take(bytes: number): void {
    this.#left -= bytes;
  }

  /** @returns false when the window would be larger than windows may be (RFC 9113 section 6.9.1). */
  widen(bytes: number): boolean {
    this.#left += bytes;
    return this.#left <= maximumWindow;
  }
}

/** How many bytes the other side may still send. What has been dealt with is granted again by halves of the window. */
export class ReceiveWindow {
  readonly #size: number;
  #left: number;
  #dealtWith = 0;

  constructor(size: number) {
    this.#size = size;
    this.#left = size;
  }

  get left(): number {
    return this.#left;
  }

  /** @returns false when more was sent than was granted. */
  take(bytes: number): boolean {
    this.#left -= bytes;
    return this.#left >= 0;
  }

  /** @returns how much to grant with a WINDOW_UPDATE now; 0 for none. */
  release(bytes: number): number {
    this.#dealtWith += bytes;
    if (2 * this.#dealtWith < this.#size) return 0;
    const granted = this.#dealtWith;
    this.#dealtWith = 0;
    this.#left += granted;
    return granted;
  }
}
