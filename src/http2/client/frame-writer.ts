import type { Writable } from 'node:stream';

/** Bytes that may wait for a server that reads nothing. */
const maximumUnread = 1024 * 1024;

/**
 * Bytes that are collected at most: only what the socket was given shows whether the server takes more, and a source
 * that has much at hand would fill our memory within one turn.
 */
const maximumCollected = 64 * 1024;

/**
 * Collects what is written to a connection in one turn of the event loop: the requests of many clients leave in one
 * TLS record and one system call.
 */
export class FrameWriter {
  readonly #socket: Writable;
  #pieces: (string | Uint8Array)[] = [];
  #length = 0;
  /** Bytes that the server has made us write since it read everything last. */
  #answered = 0;
  #scheduled = false;
  #writes = 0;

  constructor(socket: Writable) {
    this.#socket = socket;
  }

  /** How often the socket was given something. What has been collected since then has not left. */
  get writes(): number {
    return this.#writes;
  }

  /** The server takes no more for now; the socket's `drain` says when it does. */
  get needsDrain(): boolean {
    return this.#socket.writableNeedDrain;
  }

  /** So much waits that nothing new may be begun before the socket's `drain`. */
  get isFull(): boolean {
    return this.#socket.writableLength + this.#length > maximumUnread;
  }

  /** The server makes us answer (pings, settings, what exceeds a limit), and reads none of it. */
  get isFlooded(): boolean {
    return this.#answered > maximumUnread;
  }

  /** @param piece a byte string, or bytes that nobody changes until they are sent. */
  write(piece: string | Uint8Array): void {
    this.#pieces.push(piece);
    this.#length += piece.length;
    if (this.#length >= maximumCollected) this.flush();
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(this.#flush);
  }

  /** As `write`, of what the server has made us write. */
  answer(piece: string): void {
    this.#answered += piece.length;
    this.write(piece);
  }

  /** The server has read everything: the socket's `drain`. */
  drained(): void {
    this.#answered = 0;
  }

  /** Writes what has been collected now: nothing else comes, or it has become much. */
  flush(): void {
    const pieces = this.#pieces;
    const length = this.#length;
    const first = pieces[0];
    if (first === undefined) return;
    this.#pieces = [];
    this.#length = 0;
    if (!this.#socket.writable) return;
    this.#writes++;
    const isTaken =
      pieces.length === 1 && typeof first === 'string'
        ? this.#socket.write(first, 'latin1')
        : this.#socket.write(joined(pieces, length));
    if (isTaken) this.#answered = 0;
  }

  readonly #flush = (): void => {
    this.#scheduled = false;
    this.flush();
  };
}

function joined(pieces: readonly (string | Uint8Array)[], length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  let offset = 0;
  for (const piece of pieces) {
    if (typeof piece === 'string') bytes.write(piece, offset, 'latin1');
    else bytes.set(piece, offset);
    offset += piece.length;
  }
  return bytes;
}
