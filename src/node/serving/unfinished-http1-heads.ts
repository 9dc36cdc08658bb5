import type { TLSSocket } from 'node:tls';

export interface UnfinishedHttp1HeadsOptions {
  /** For all of them together. */
  readonly maximumBytes: number;
  /** For one head: the parser ends a connection that sends more. */
  readonly maximumHead: number;
  /** Milliseconds between two checks. */
  readonly interval: number;
  /** Whether a response on this connection is incomplete. */
  readonly isBusy: (socket: TLSSocket) => boolean;
}

/**
 * Bounds the memory of incomplete HTTP/1.1 request heads on all connections of clients without a verified certificate, as
 * `UnfinishedHeads` does for HTTP/2. Node's parser does not report them: bytes since the end of the last request count as
 * an incomplete head. Beyond the limit the oldest connections are closed.
 */
export class UnfinishedHttp1Heads {
  readonly #options: UnfinishedHttp1HeadsOptions;
  /** Bytes that had been read at the end of the last request; oldest connection first. */
  readonly #connections = new Map<TLSSocket, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: UnfinishedHttp1HeadsOptions) {
    this.#options = options;
  }

  /** A connection of a client without a verified certificate was opened. */
  opened(socket: TLSSocket): void {
    this.#connections.set(socket, socket.bytesRead);
    socket.once('close', () => {
      this.#connections.delete(socket);
      if (this.#connections.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    });
    this.#timer ??= setInterval(() => this.check(), this.#options.interval).unref();
  }

  /** Whether the heads of this connection are counted. */
  counts(socket: TLSSocket): boolean {
    return this.#connections.has(socket);
  }

  /** A request ended: the bytes so far belong to it. */
  requestEnded(socket: TLSSocket): void {
    if (this.#connections.has(socket)) this.#connections.set(socket, socket.bytesRead);
  }

  /** Closes connections until the others are within the limit. */
  check(): void {
    const { maximumBytes, maximumHead, isBusy } = this.#options;
    const unfinished: [socket: TLSSocket, bytes: number][] = [];
    let total = 0;
    for (const [socket, before] of this.#connections) {
      if (isBusy(socket)) continue;
      const bytes = Math.min(socket.bytesRead - before, maximumHead);
      if (bytes <= 0) continue;
      unfinished.push([socket, bytes]);
      total += bytes;
    }
    for (const [socket, bytes] of unfinished) {
      if (total <= maximumBytes) return;
      total -= bytes;
      socket.destroy();
    }
  }
}
