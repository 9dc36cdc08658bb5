/** How a stream of bytes ended: at its end as its framing has it, or short of it. */
type State = 'open' | 'ended' | 'broken';

/** Bytes as they arrive, kept as a byte string, for whoever waits for some of them. */
export class ByteReader {
  #text = '';
  #state: State = 'open';
  #waiting: (() => void)[] = [];

  push(chunk: Uint8Array): void {
    this.#text += Buffer.from(chunk).toString('latin1');
    this.#wake();
  }

  end(): void {
    if (this.#state === 'open') this.#state = 'ended';
    this.#wake();
  }

  /** The stream fell short of its end. Nothing after `end`. */
  breakOff(): void {
    if (this.#state === 'open') this.#state = 'broken';
    this.#wake();
  }

  /** Text that has come so far. */
  get text(): string {
    return this.#text;
  }

  /** Waits until what came contains `mark`. @throws when the stream is over before. */
  async until(mark: string): Promise<string> {
    while (!this.#text.includes(mark)) {
      if (this.#state !== 'open') {
        throw new Error(`the stream was ${this.#state} before ${JSON.stringify(mark)}: ${this.#text}`);
      }
      await this.#more();
    }
    return this.#text;
  }

  /** Waits for a clean end. @throws when the stream breaks off. */
  async toEnd(): Promise<string> {
    if ((await this.outcome()) === 'broken') throw new Error(`the stream broke off after: ${this.#text}`);
    return this.#text;
  }

  /** Waits until the stream is over, well or not. */
  async outcome(): Promise<'ended' | 'broken'> {
    while (this.#state === 'open') await this.#more();
    return this.#state;
  }

  #more(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}
