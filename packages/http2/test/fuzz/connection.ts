import { Duplex } from 'node:stream';

/** One end of a connection in memory. */
export class ConnectionEnd extends Duplex {
  readonly #cuts: readonly number[];
  #written = 0;
  #other: ConnectionEnd | undefined;

  private constructor(cuts: readonly number[]) {
    super();
    this.#cuts = cuts;
  }

  /**
   * Two ends. What is written at one of them is read at the other a turn later.
   * @param cuts bytes of the pieces in which it is read, and round again
   */
  static pair(cuts: readonly number[]): readonly [ConnectionEnd, ConnectionEnd] {
    const [one, other] = [new ConnectionEnd(cuts), new ConnectionEnd(cuts)];
    one.#other = other;
    other.#other = one;
    return [one, other];
  }

  /** Calls back with what is written from now on, at once: also what is lost when the end is destroyed. */
  onWritten(took: (bytes: Buffer) => void): void {
    const write = this.write.bind(this) as (...given: unknown[]) => boolean;
    const watched = (bytes: Buffer, ...rest: unknown[]): boolean => {
      took(Buffer.from(bytes));
      return write(bytes, ...rest);
    };
    Object.assign(this, { write: watched });
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    // Copied now, read a turn later: its writer may use the memory again only when it is told.
    setImmediate(() => {
      for (let offset = 0; offset < chunk.length; ) {
        const length = this.#cuts[this.#written++ % this.#cuts.length] ?? chunk.length;
        this.#other?.push(Buffer.from(chunk.subarray(offset, offset + length)));
        offset += length;
      }
      callback();
    });
  }

  override _final(callback: () => void): void {
    this.#end();
    callback();
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#end();
    callback(error);
  }

  #end(): void {
    setImmediate(() => {
      const other = this.#other;
      if (other !== undefined && !other.destroyed && !other.readableEnded) other.push(null);
    });
  }

  /** As `Socket` of node:net has it. */
  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy());
  }
}
