import { Duplex } from 'node:stream';
import { Answers } from './read-answers.ts';

/** Stands for a TLS connection whose client reads what the router writes. */
export class ClientSocket extends Duplex {
  readonly answers = new Answers();
  /** What it was that may not come: thrown out of a write it would not get to the test. */
  failure: unknown;
  readonly #isSlow: boolean;
  #onTaken: (() => void) | undefined;

  constructor(isSlow: boolean) {
    super();
    this.#isSlow = isSlow;
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    try {
      this.answers.read(chunk);
    } catch (error) {
      this.failure ??= error;
    }
    if (this.#isSlow) this.#onTaken = callback;
    else callback();
  }

  /** The client takes one write. */
  takeWrite(): void {
    const onTaken = this.#onTaken;
    this.#onTaken = undefined;
    onTaken?.();
  }

  /** As `Socket` of node:net has it. */
  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy());
  }
}
