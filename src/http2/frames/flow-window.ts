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

/** How many bytes the peer may still send. Consumed bytes are granted again, half a window at a time. */
export class ReceiveWindow {
  readonly #size: number;
  #left: number;
  #consumed = 0;

  constructor(size: number) {
    this.#size = size;
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
    const granted = this.#consumed;
    this.#consumed = 0;
    this.#left += granted;
    return granted;
  }
}
