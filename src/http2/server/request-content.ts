import { Readable } from 'node:stream';
import { PieceQueue } from '../frames/piece-queue.ts';

/** Bytes in the readable's own buffer. What exceeds it is queued, up to the stream's flow-control window. */
const readAhead = 64 * 1024;
/** A piece below this size is smaller than the object that holds it. */
const tinyPiece = 256;

export class RequestContent extends Readable {
  readonly #grant: (bytes: number) => void;
  readonly #queued = new PieceQueue();
  #isWanted = true;
  #isWhole = false;

  /** @param grant widens the flow-control window by so many bytes */
  constructor(grant: (bytes: number) => void) {
    super({ highWaterMark: readAhead });
    this.#grant = grant;
  }

  /** Queues a piece for `deliver`. @param piece copied */
  receive(piece: Uint8Array): void {
    this.#queued.add(piece);
  }

  /** The content is complete. */
  receiveEnd(): void {
    this.#isWhole = true;
  }

  /**
   * Passes on what one read of the connection brought, in as few pieces as possible: with one byte per frame, an object
   * for each would take a hundred times the memory.
   * @returns whether it left a tiny piece unread: there must not be many of them
   */
  deliver(): boolean {
    if (this.destroyed || this.readableEnded) return false;
    let granted = 0;
    while (this.#isWanted) {
      const piece = this.#queued.take();
      if (piece === undefined) break;
      granted += piece.length;
      this.#isWanted = this.push(piece);
    }
    if (granted > 0) this.#grant(granted);
    if (this.#isWhole && this.#queued.isEmpty) {
      this.#isWhole = false;
      this.push(null);
      return false;
    }
    return granted < tinyPiece && this.readableLength > granted;
  }

  override _read(): void {
    this.#isWanted = true;
    this.deliver();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#queued.clear();
    callback(error);
  }
}
