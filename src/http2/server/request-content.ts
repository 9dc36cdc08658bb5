import { Readable } from 'node:stream';
import { PieceQueue } from '../frames/piece-queue.ts';

/** Bytes in the readable's own buffer. What exceeds it is queued, up to the stream's flow-control window. */
const readAhead = 64 * 1024;
/** A piece below this size is smaller than the object that holds it. Bytes. */
const tinyPiece = 256;

/** The content of one request. */
export class RequestContent extends Readable {
  readonly #grant: (bytes: number) => void;
  readonly #queued = new PieceQueue();
  #queuedBytes = 0;
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
    this.#queuedBytes += piece.length;
  }

  /** The content is complete. */
  receiveEnd(): void {
    this.#isWhole = true;
  }

  /**
   * Passes on what one read of the connection brought, in few pieces: of one byte each, each would take a hundred times its
   * memory. So tiny pieces are gathered in the queue while there is something to read.
   */
  deliver(): void {
    if (this.#isWhole || this.#queuedBytes >= tinyPiece || this.readableLength === 0) this.#passOn();
  }

  #passOn(): void {
    if (this.destroyed || this.readableEnded) return;
    let granted = 0;
    while (this.#isWanted) {
      const piece = this.#queued.take();
      if (piece === undefined) break;
      granted += piece.length;
      this.#isWanted = this.push(piece);
    }
    this.#queuedBytes -= granted;
    if (granted > 0) this.#grant(granted);
    if (this.#isWhole && this.#queued.isEmpty) {
      this.#isWhole = false;
      this.push(null);
    }
  }

  /** Its reader takes what is there: what was gathered, too. With 0 the stream asks for itself. */
  override read(size?: number): unknown {
    if (size !== 0) this.#passOn();
    return super.read(size);
  }

  override _read(): void {
    this.#isWanted = true;
    this.deliver();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#queued.clear();
    this.#queuedBytes = 0;
    callback(error);
  }
}
