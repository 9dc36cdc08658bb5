import { GatheredWrites, type PieceWriter } from '../../http2/sockets/gathered-writes.ts';
import type { InboundRequest } from '../../request/inbound.ts';

/** Bytes. Up to this size a copy of a lent piece is cheaper than a reused buffer. */
export const maximumCopied = 4_096;

/** What a response is written to; every `Writable` is one. */
export interface ClientWritable extends PieceWriter {
  once(event: 'drain', listener: () => void): unknown;
  end(): unknown;
}

/** Writes a response to an HTTP/1.1 client: reports when it can take more, and when it has gone. */
export class ClientWriter {
  readonly #writable: ClientWritable;
  /** Dropped in `attach`: an open watch must not keep its request in memory. */
  #inbound: Required<Pick<InboundRequest, 'onFinished'>> | undefined;
  #onDrain: (() => void) | undefined;
  #onGone: (() => void) | undefined;
  #isWaiting = false;
  /** Whether more than one piece is expected. */
  #isLarge = false;
  /** Made for the first large piece. */
  #gathered: GatheredWrites | undefined;

  constructor(writable: ClientWritable, inbound: Required<Pick<InboundRequest, 'onFinished'>>) {
    this.#writable = writable;
    this.#inbound = inbound;
  }

  attach(onDrain: () => void, onGone: () => void): void {
    this.#onDrain = onDrain;
    this.#onGone = onGone;
    this.#inbound?.onFinished(() => this.#onGone?.());
    this.#inbound = undefined;
  }

  /** @param length Content-Length of the response, if known */
  announce(length: number | undefined): void {
    this.#isLarge = length !== undefined && length > maximumCopied;
  }

  release(): void {
    this.#onDrain = undefined;
    this.#onGone = undefined;
  }

  /** @returns false when the client is slower; `onDrain` is called then. */
  write(chunk: Uint8Array): boolean {
    // Gathered bytes come first.
    this.#gathered?.flush();
    if (this.#writable.write(chunk)) return true;
    if (!this.#isWaiting) {
      this.#isWaiting = true;
      this.#writable.once('drain', () => {
        this.#isWaiting = false;
        this.#onDrain?.();
      });
    }
    return false;
  }

  /**
   * @param chunk overwritten afterwards
   * @returns false when the client is slower; `onDrain` is called then.
   */
  lend(chunk: Uint8Array): boolean {
    if (this.#gathered === undefined) {
      if (chunk.length <= maximumCopied && !this.#isLarge) return this.write(Buffer.from(chunk));
      this.#gathered = new GatheredWrites(this.#writable, () => this.#onDrain?.());
    }
    return this.#gathered.add(chunk);
  }

  end(): void {
    this.#gathered?.flush();
    this.#writable.end();
  }
}
