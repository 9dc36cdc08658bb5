import type { TLSSocket } from 'node:tls';
import type { Dispatcher } from 'undici';

/**
 * Makes a dispatcher for a server that only agrees on HTTP/1.1, such as undici's `Pool`.
 * @param firstSocket returns, once, the connection on which HTTP/1.1 was agreed, if it is still open
 */
export type OpenHttp1 = (firstSocket: () => TLSSocket | undefined) => Dispatcher;

/** The dispatcher for a server without HTTP/2. Earlier ones finish their requests. */
export class Http1Fallback {
  readonly #open: OpenHttp1;
  readonly #onEmpty: () => void;
  readonly #retired = new Set<Dispatcher>();
  #dispatcher: Dispatcher | undefined;
  /** The connection on which HTTP/1.1 was agreed, until the dispatcher asks for it. */
  #spareSocket: TLSSocket | undefined;

  /** @param onEmpty called when a retired dispatcher has finished */
  constructor(open: OpenHttp1, onEmpty: () => void) {
    this.#open = open;
    this.#onEmpty = onEmpty;
  }

  /** The current one, while the server is known to speak HTTP/1.1. */
  get dispatcher(): Dispatcher | undefined {
    return this.#dispatcher;
  }

  /** Whether no dispatcher is left. */
  get isEmpty(): boolean {
    return this.#dispatcher === undefined && this.#retired.size === 0;
  }

  /** @param socket on which HTTP/1.1 was agreed */
  open(socket: TLSSocket): void {
    this.#spareSocket = socket;
    const dispatcher = this.#open(() => this.#takeSpareSocket());
    dispatcher.on('connectionError', () => {
      // The server may come back with HTTP/2: negotiate again for the next request.
      if (this.#dispatcher === dispatcher) this.retire();
    });
    this.#dispatcher = dispatcher;
  }

  /** Stops using the dispatcher; its requests in flight continue. */
  retire(): void {
    const dispatcher = this.#dispatcher;
    if (dispatcher === undefined) return;
    this.#dispatcher = undefined;
    // The dispatcher does not know this connection, and would leave it open.
    this.#takeSpareSocket()?.destroy();
    this.#retired.add(dispatcher);
    const forget = (): void => {
      this.#retired.delete(dispatcher);
      this.#onEmpty();
    };
    // Closing fails only if it was destroyed meanwhile.
    dispatcher.close().then(forget, forget);
  }

  destroy(error: Error): void {
    this.retire();
    for (const dispatcher of this.#retired) dispatcher.destroy(error).catch(() => {});
  }

  #takeSpareSocket(): TLSSocket | undefined {
    const socket = this.#spareSocket;
    this.#spareSocket = undefined;
    return socket?.destroyed === false ? socket : undefined;
  }
}
