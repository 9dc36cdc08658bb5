import type { TLSSocket } from 'node:tls';

export interface UnfinishedHttp1HeadsOptions {
  /** Bytes that all of them together may take. */
  readonly maximumBytes: number;
  /** Bytes that one may have: the parser ends a connection that sends more. */
  readonly maximumHead: number;
  /** Milliseconds between two looks. */
  readonly interval: number;
  /** Whether a request on this connection has not been answered in full. */
  readonly isBusy: (socket: TLSSocket) => boolean;
}

/**
 * What is held of the heads of HTTP/1.1 requests that are not whole, on all connections of clients without a verified
 * certificate together, as `UnfinishedHeads` has it for HTTP/2. Node's parser tells nothing of them: what a connection
 * has sent since its last request was over is taken for a part of a head. When it is too much, connections are ended,
 * the oldest first, until it is not.
 */
export class UnfinishedHttp1Heads {
  readonly #options: UnfinishedHttp1HeadsOptions;
  /** Bytes that had been read when the last request on it was over; the oldest connection first. */
  readonly #connections = new Map<TLSSocket, number>();
  #looks: NodeJS.Timeout | undefined;

  constructor(options: UnfinishedHttp1HeadsOptions) {
    this.#options = options;
  }

  /** A connection of a client that has shown no certificate that was verified. */
  opened(socket: TLSSocket): void {
    this.#connections.set(socket, socket.bytesRead);
    socket.once('close', () => {
      this.#connections.delete(socket);
      if (this.#connections.size > 0) return;
      clearInterval(this.#looks);
      this.#looks = undefined;
    });
    this.#looks ??= setInterval(() => this.look(), this.#options.interval).unref();
  }

  /** Whether its heads are counted. */
  counts(socket: TLSSocket): boolean {
    return this.#connections.has(socket);
  }

  /** A request on it is over: what came so far was that request. */
  answered(socket: TLSSocket): void {
    if (this.#connections.has(socket)) this.#connections.set(socket, socket.bytesRead);
  }

  /** Ends connections until the rest hold no more than they may. */
  look(): void {
    const { maximumBytes, maximumHead, isBusy } = this.#options;
    const unfinished: [socket: TLSSocket, bytes: number][] = [];
    let held = 0;
    for (const [socket, before] of this.#connections) {
      if (isBusy(socket)) continue;
      const bytes = Math.min(socket.bytesRead - before, maximumHead);
      if (bytes <= 0) continue;
      unfinished.push([socket, bytes]);
      held += bytes;
    }
    for (const [socket, bytes] of unfinished) {
      if (held <= maximumBytes) return;
      held -= bytes;
      socket.destroy();
    }
  }
}
