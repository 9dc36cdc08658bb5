import { GatheredWrites, type PieceWriter } from '../../http2/sockets/gathered-writes.ts';
import type { InboundRequest } from '../../request/inbound.ts';

/** Bytes of a lent piece up to which a copy of its own is cheaper than a buffer that is used again. */
export const maximumCopied = 4_096;

/** What an answer is written to; every `Writable` is one. */
export interface ClientWritable extends PieceWriter {
  once(event: 'drain', listener: () => void): unknown;
  end(): unknown;
}

/** The part of an answer that watches its client, on either protocol: when it can take more, and when it has gone. */
export class ClientSide {
  readonly #writable: ClientWritable;
  /** Up to `attach`: a watch must not keep its request for as long as it is open. */
  #inbound: Required<Pick<InboundRequest, 'onFinished'>> | undefined;
  #onDrain: (() => void) | undefined;
  #onGone: (() => void) | undefined;
  #isWaiting = false;
  /** More than one piece is to be expected. */
  #isLarge = false;
  /** From the first large piece on. */
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

  /** @param length bytes of the answer's body, where its head says so */
  announce(length: number | undefined): void {
    this.#isLarge = length !== undefined && length > maximumCopied;
  }

  release(): void {
    this.#onDrain = undefined;
    this.#onGone = undefined;
  }

  /** @returns false when the client is slower; `onDrain` is called then. */
  write(chunk: Uint8Array): boolean {
    // Nothing may overtake what has been gathered.
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
   * @param chunk overwritten afterwards.
   * @returns false when the client is slower; `onDrain` is called then.
   */
  lend(chunk: Uint8Array): boolean {
    if (this.#gathered === undefined) {
      if (chunk.length <= maximumCopied && !this.#isLarge) return this.write(Buffer.from(chunk));
      this.#gathered = new GatheredWrites(this.#writable, () => this.#onDrain?.());
    }
    return this.#gathered.add(chunk);
  }

  /** Ends the answer behind all that was written. */
  end(): void {
    this.#gathered?.flush();
    this.#writable.end();
  }
}
