import type { TLSSocket } from 'node:tls';
import type { Dispatcher } from 'undici';

/**
 * Who carries requests where a server agrees on HTTP/1.1 only: undici's `Pool`, say.
 * @param firstSocket the connection on which that was agreed, once, if it is still there
 */
export type OpenHttp1 = (firstSocket: () => TLSSocket | undefined) => Dispatcher;

/** The dispatcher for a server that speaks no HTTP/2; those of before go on until they are through. */
export class Http1Fallback {
  readonly #open: OpenHttp1;
  readonly #onEmpty: () => void;
  readonly #retired = new Set<Dispatcher>();
  #dispatcher: Dispatcher | undefined;
  /** What ALPN agreed on for a connection that the dispatcher has not asked for yet. */
  #spareSocket: TLSSocket | undefined;

  /** @param onEmpty called when one that was retired is through */
  constructor(open: OpenHttp1, onEmpty: () => void) {
    this.#open = open;
    this.#onEmpty = onEmpty;
  }

  /** The one in use, while the server is known to speak HTTP/1.1. */
  get dispatcher(): Dispatcher | undefined {
    return this.#dispatcher;
  }

  /** Whether no connection is left, and none is needed. */
  get isEmpty(): boolean {
    return this.#dispatcher === undefined && this.#retired.size === 0;
  }

  /** @param socket on which HTTP/1.1 was agreed */
  open(socket: TLSSocket): void {
    this.#spareSocket = socket;
    const dispatcher = this.#open(() => this.#takeSpareSocket());
    dispatcher.on('connectionError', () => {
      // It may come back as another version that speaks HTTP/2: ask again at the next request.
      if (this.#dispatcher === dispatcher) this.retire();
    });
    this.#dispatcher = dispatcher;
  }

  /** Takes the dispatcher out of use; what it carries goes on to its end. */
  retire(): void {
    const dispatcher = this.#dispatcher;
    if (dispatcher === undefined) return;
    this.#dispatcher = undefined;
    // It never knew of it, and would leave it open.
    this.#takeSpareSocket()?.destroy();
    this.#retired.add(dispatcher);
    const forget = (): void => {
      this.#retired.delete(dispatcher);
      this.#onEmpty();
    };
    // Closing fails only for one that was destroyed meanwhile.
    dispatcher.close().then(forget, forget);
  }

  /** Ends everything at once. */
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
