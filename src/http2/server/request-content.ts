import { Readable } from 'node:stream';
import { PieceQueue } from '../frames/piece-queue.ts';
import type { HeldBytes } from '../sockets/held-bytes.ts';

/** Bytes in the readable's own buffer. What exceeds it is queued, up to the stream's flow-control window. */
const readAhead = 16 * 1024;
/** A piece below this size is smaller than the object that holds it. Bytes. */
const tinyPiece = 256;

/** The content of one request. */
export class RequestContent extends Readable {
  readonly #held: HeldBytes;
  readonly #grant: (bytes: number) => void;
  readonly #queued = new PieceQueue();
  #queuedBytes = 0;
  /** Bytes that nobody has read. */
  #unread = 0;
  #isWanted = true;
  #isWhole = false;

  /**
   * @param held counts what nobody has read
   * @param grant widens the flow-control window by so many bytes
   */
  constructor(held: HeldBytes, grant: (bytes: number) => void) {
    super({ highWaterMark: readAhead });
    this.#held = held;
    this.#grant = grant;
  }

  /** Queues a piece for `deliver`. @param piece copied */
  receive(piece: Uint8Array): void {
    if (this.destroyed) return;
    this.#queued.add(piece);
    this.#queuedBytes += piece.length;
    this.#unread += piece.length;
    this.#held.add(piece.length);
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
    while (this.#isWanted) {
      const piece = this.#queued.take();
      if (piece === undefined) break;
      this.#queuedBytes -= piece.length;
      this.#isWanted = this.push(piece);
    }
    this.#countRead();
    if (this.#isWhole && this.#queued.isEmpty) {
      this.#isWhole = false;
      this.push(null);
    }
  }

  /** Grants again what was read: before that the client must not send more. */
  #countRead(): void {
    if (this.destroyed) return;
    const unread = this.#queuedBytes + this.readableLength;
    const read = this.#unread - unread;
    if (read <= 0) return;
    this.#unread = unread;
    this.#held.add(-read);
    this.#grant(read);
  }

  /** Its reader takes what is there: what was gathered, too. With 0 the stream asks for itself. */
  override read(size?: number): unknown {
    if (size !== 0) this.#passOn();
    const piece: unknown = super.read(size);
    this.#countRead();
    return piece;
  }

  override _read(): void {
    this.#isWanted = true;
    this.deliver();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#queued.clear();
    this.#queuedBytes = 0;
    this.#held.add(-this.#unread);
    this.#unread = 0;
    callback(error);
  }
}
