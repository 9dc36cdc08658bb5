import type { SeenRequest } from './record.ts';
import type { Wire } from './wire.ts';

/** Acts on the connection of a request, whichever protocol it speaks. */
export class WireAsked {
  readonly seen: SeenRequest;
  readonly #wire: Wire;

  constructor(seen: SeenRequest, wire: Wire, answer: NodeJS.EventEmitter) {
    this.seen = seen;
    this.#wire = wire;
    answer.on('error', () => {});
    answer.once('close', () => {
      seen.isOver = true;
      this.broken();
    });
  }

  hangUp(): void {
    this.broken();
    this.#wire.tls.end();
  }

  cut(): void {
    this.broken();
    this.#wire.tcp.resetAndDestroy();
  }

  /** True if the connection has been cut. */
  get isCut(): boolean {
    return this.#wire.tcp.destroyed;
  }

  raw(bytes: string | Buffer): void {
    if (this.#wire.tls.writable)
      this.#wire.tls.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  }

  /** Takes down that the answer ends here, unless it has ended already. */
  protected broken(): void {
    if (this.seen.answer.end === 'open') this.seen.answer.end = 'broken';
  }
}
