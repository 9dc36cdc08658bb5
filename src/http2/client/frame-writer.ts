import type { Writable } from 'node:stream';

/** Bytes that may wait for a server that does not read. */
const maximumUnread = 1024 * 1024;

/**
 * Bytes that are collected at most. Only a write to the socket shows whether the server reads, and a fast source would
 * fill our memory within one turn of the event loop.
 */
const maximumCollected = 64 * 1024;

/**
 * Collects what is written to a connection in one turn of the event loop, so that the requests of many clients need one
 * TLS record and one system call.
 */
export class FrameWriter {
  readonly #socket: Writable;
  #pieces: (string | Uint8Array)[] = [];
  #length = 0;
  /** Bytes of control frames that the server caused and has not read. */
  #unreadControl = 0;
  #scheduled = false;
  #writes = 0;

  constructor(socket: Writable) {
    this.#socket = socket;
  }

  /** How often the socket was written to. What was collected since the last time has not been sent. */
  get writes(): number {
    return this.#writes;
  }

  /** The server does not read for now: wait for the socket's `drain`. */
  get needsDrain(): boolean {
    return this.#socket.writableNeedDrain;
  }

  /** So much waits that no request may be sent before the socket's `drain`. */
  get isFull(): boolean {
    return this.#socket.writableLength + this.#length > maximumUnread;
  }

  /** The server causes control frames (by pings, settings, exceeded limits) and does not read them. */
  get isFlooded(): boolean {
    return this.#unreadControl > maximumUnread;
  }

  /** @param piece a byte string, or bytes that do not change until they are sent */
  write(piece: string | Uint8Array): void {
    this.#pieces.push(piece);
    this.#length += piece.length;
    if (this.#length >= maximumCollected) this.flush();
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(this.#flush);
  }

  /** As `write`, for a control frame that the server caused. */
  writeControl(piece: string): void {
    this.#unreadControl += piece.length;
    this.write(piece);
  }

  /** The socket's `drain`: the server has read everything. */
  drained(): void {
    this.#unreadControl = 0;
  }

  /** Writes what was collected. */
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
    if (isTaken) this.#unreadControl = 0;
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
