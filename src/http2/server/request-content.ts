import { Readable } from 'node:stream';
import { HeldPieces } from '../frames/held-pieces.ts';

/** Bytes that are handed on ahead of their reader; as many more are held as the stream's window lets a client send. */
const readAhead = 64 * 1024;
/** Bytes of a piece that is smaller than what it takes to hold it. */
const scrapLength = 256;

/** The content of a request on its way from the client. */
export class RequestContent extends Readable {
  readonly #grant: (bytes: number) => void;
  readonly #held = new HeldPieces();
  #isWanted = true;
  #isWhole = false;

  /** @param grant lets the client send so many bytes more */
  constructor(grant: (bytes: number) => void) {
    super({ highWaterMark: readAhead });
    this.#grant = grant;
  }

  /** @param piece lent; handed on by `deliver` */
  receive(piece: Uint8Array): void {
    this.#held.add(piece);
  }

  /** Nothing follows what has been received. */
  receiveEnd(): void {
    this.#isWhole = true;
  }

  /**
   * Hands on what has come in one read of the connection, in as few pieces as it fits in: of frames with a byte each an
   * object for every one would be a hundred times as large as they are.
   * @returns whether it left a scrap that nobody has read yet: such objects must not become many
   */
  deliver(): boolean {
    if (this.destroyed || this.readableEnded) return false;
    let granted = 0;
    while (this.#isWanted) {
      const piece = this.#held.take();
      if (piece === undefined) break;
      granted += piece.length;
      this.#isWanted = this.push(piece);
    }
    if (granted > 0) this.#grant(granted);
    if (this.#isWhole && this.#held.isEmpty) {
      this.#isWhole = false;
      this.push(null);
      return false;
    }
    return granted < scrapLength && this.readableLength > granted;
  }

  override _read(): void {
    this.#isWanted = true;
    this.deliver();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#held.clear();
    callback(error);
  }
}
