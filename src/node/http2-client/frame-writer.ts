import type { Writable } from 'node:stream';

/**
 * Bytes that may wait for a server that reads nothing, before what may wait does: uploads. What control frames add
 * to it is bounded by `maximumUnread`.
 */
const maximumUnread = 1024 * 1024;

/**
 * Collects what is written to a connection in one turn of the event loop: the requests of many clients leave in one
 * TLS record and one system call.
 */
export class FrameWriter {
  readonly #socket: Writable;
  #pieces: (string | Uint8Array)[] = [];
  #length = 0;
  #scheduled = false;

  constructor(socket: Writable) {
    this.#socket = socket;
  }

  /** The server takes no more for now; the socket's `drain` says when it does. */
  get needsDrain(): boolean {
    return this.#socket.writableNeedDrain;
  }

  /** The server makes us answer (pings, settings), and reads none of it: it would fill our memory. */
  get isFlooded(): boolean {
    return this.#socket.writableLength + this.#length > maximumUnread;
  }

  /** @param piece a byte string, or bytes that nobody changes until they are sent. */
  write(piece: string | Uint8Array): void {
    this.#pieces.push(piece);
    this.#length += piece.length;
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(this.#flush);
  }

  /** Writes what has been collected now: nothing else comes, or it has become much. */
  readonly flush = (): void => {
    const pieces = this.#pieces;
    const length = this.#length;
    const first = pieces[0];
    if (first === undefined) return;
    this.#pieces = [];
    this.#length = 0;
    if (!this.#socket.writable) return;
    if (pieces.length === 1 && typeof first === 'string') {
      this.#socket.write(first, 'latin1');
      return;
    }
    const bytes = Buffer.allocUnsafe(length);
    let offset = 0;
    for (const piece of pieces) {
      if (typeof piece === 'string') bytes.write(piece, offset, 'latin1');
      else bytes.set(piece, offset);
      offset += piece.length;
    }
    this.#socket.write(bytes);
  };

  readonly #flush = (): void => {
    this.#scheduled = false;
    this.flush();
  };
}
