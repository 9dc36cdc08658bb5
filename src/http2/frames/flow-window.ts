import { errorCode, maximumWindow } from './frame.ts';
import { connectionError } from './http2-error.ts';

/** How many bytes we may still send (RFC 9113 section 6.9). Negative after the peer reduced its window size. */
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

  /** @returns false if the window exceeds its maximum (RFC 9113 section 6.9.1) */
  widen(bytes: number): boolean {
    this.#left += bytes;
    return this.#left <= maximumWindow;
  }

  /** @throws {Http2Error} of scope `connection` */
  widenOrThrow(bytes: number): void {
    if (!this.widen(bytes)) throw connectionError(errorCode.flowControlError, 'a window becomes too large');
  }
}

/** How far a window grows while its content is taken. */
export interface WindowGrowth {
  /** Bytes. */
  readonly maximum: number;
  /** Whether so many bytes more may have to be held. */
  hasRoomFor(bytes: number): boolean;
}

/** Milliseconds. A window of which half is taken in less is too small for its reader. */
const quickly = 100;

/**
 * How many bytes the peer may still send. Consumed bytes are granted again, half a window at a time. A window grows while
 * its reader takes them quickly: what the peer may send ahead has to be held if the reader stops.
 */
export class ReceiveWindow {
  #size: number;
  readonly #growth: WindowGrowth | undefined;
  #left: number;
  #consumed = 0;
  /** Milliseconds of the monotonic clock. */
  #grantedAt = 0;

  /** @param growth left out: it stays as it is */
  constructor(size: number, growth?: WindowGrowth) {
    this.#size = size;
    this.#growth = growth;
    this.#left = size;
  }

  get left(): number {
    return this.#left;
  }

  /** @returns false if the peer sent more than was granted */
  take(bytes: number): boolean {
    this.#left -= bytes;
    return this.#left >= 0;
  }

  /** @returns how much to grant with a WINDOW_UPDATE now, or 0 */
  release(bytes: number): number {
    this.#consumed += bytes;
    if (2 * this.#consumed < this.#size) return 0;
    const granted = this.#consumed + this.#grow();
    this.#consumed = 0;
    this.#left += granted;
    return granted;
  }

  /** @returns by how much it has become larger */
  #grow(): number {
    const growth = this.#growth;
    if (growth === undefined || this.#size >= growth.maximum) return 0;
    const before = this.#grantedAt;
    this.#grantedAt = performance.now();
    const more = Math.min(this.#size, growth.maximum - this.#size);
    if (this.#grantedAt - before > quickly || !growth.hasRoomFor(more)) return 0;
    this.#size += more;
    return more;
  }
}
