import type { Readable } from 'node:stream';

/**
 * A body up to this size is sent in one piece if it has arrived completely, as most objects have. It fits into one HTTP/2
 * frame with any settings of the destination (RFC 9113 section 4.2). Bytes.
 */
const maximumWhole = 16 * 1024;

/**
 * Bytes of one body that are kept for a second destination, and of all bodies in this process. A larger body is streamed
 * and cannot be sent twice; most objects are far smaller.
 */
export const maximumKept = 64 * 1024;
export const maximumKeptByAll = 16 * 1024 * 1024;
let keptByAll = 0;

/**
 * The body of one inbound request. It is read once, for one destination, unless it is kept: then it can be rewound for a
 * second one.
 */
export class BodySource {
  readonly #open: () => Readable;
  readonly #isCutShort: () => boolean;
  readonly #announcedLength: number | undefined;
  #opening: Readable | undefined;
  #opened = false;
  /** What was read so far; `undefined` if it is not kept. */
  #kept: Uint8Array[] | undefined;
  #keptBytes = 0;
  /** What the next reader gets before the rest of the stream. */
  #again: readonly Uint8Array[] = [];
  #reader: { stop(): void } | undefined;

  /**
   * @param isCutShort whether a body that has ended is incomplete. Default: never
   * @param announcedLength bytes, from `Content-Length`
   */
  constructor(open: () => Readable, isCutShort: () => boolean = () => false, announcedLength?: number) {
    this.#open = open;
    this.#isCutShort = isCutShort;
    this.#announcedLength = announcedLength;
  }

  /** At the end of the body: whether it is incomplete. */
  get isCutShort(): boolean {
    return this.#isCutShort();
  }

  /** Whether reading has begun: another destination can only get the body after `rewind`. */
  get opened(): boolean {
    return this.#opened;
  }

  /** @param reader is stopped before another one begins */
  open(reader?: { stop(): void }): Readable {
    this.#opened = true;
    this.#reader = reader;
    return this.#stream;
  }

  /** Keeps what is read from now on, within the limits. */
  keep(): void {
    if (!this.#opened) this.#kept = [];
  }

  /** Drops what was kept: no other destination will be tried. */
  forget(): void {
    keptByAll -= this.#keptBytes;
    this.#keptBytes = 0;
    this.#kept = undefined;
  }

  /**
   * Lets the next reader begin at the first byte. The current reader is stopped.
   * @returns false if a part of the body was not kept
   */
  rewind(): boolean {
    if (!this.#opened) return true;
    if (this.#kept === undefined) return false;
    this.#reader?.stop();
    this.#again = this.#kept;
    this.forget();
    this.#opened = false;
    return true;
  }

  /** The reader got a chunk. */
  passed(chunk: Uint8Array): void {
    if (this.#kept === undefined) return;
    const bytes = chunk.byteLength;
    if (this.#keptBytes + bytes > maximumKept || keptByAll + bytes > maximumKeptByAll) {
      this.forget();
      return;
    }
    this.#keptBytes += bytes;
    keptByAll += bytes;
    this.#kept.push(chunk);
  }

  /** What was read before `rewind`: comes before the stream of `open`. Returned once. */
  takeRead(): readonly Uint8Array[] {
    const again = this.#again;
    this.#again = [];
    return again;
  }

  /** Whether it is a short body that has not arrived yet: Go's clients write head and body separately. */
  get isAwaited(): boolean {
    return this.#isShort && this.#again.length === 0 && this.#stream.readableLength !== this.#announcedLength;
  }

  /** A short body, if it has arrived completely; otherwise nothing is read. */
  takeWhole(): Uint8Array | undefined {
    if (!this.#isShort) return undefined;
    const length = this.#announcedLength;
    const [first] = this.#again;
    if (first?.byteLength === length) {
      this.#again = [];
      this.#opened = true;
      return first;
    }
    const stream = this.#stream;
    // Both parsers enforce the Content-Length (RFC 9112 section 6.3, RFC 9113 section 8.1.1): the body is complete.
    if (stream.readableLength !== length || this.#isCutShort()) return undefined;
    // Without a length Node would return the first piece only.
    const bytes: unknown = stream.read(length);
    if (!(bytes instanceof Uint8Array)) return undefined;
    this.#opened = true;
    // Kept in memory until the head of the response anyway, so it is not counted.
    this.#kept?.push(bytes);
    // Reads the end of the stream; otherwise an HTTP/2 stream would count as an upload in progress.
    stream.resume();
    return bytes;
  }

  /** The client's stream, shared by all readers. */
  get #stream(): Readable {
    this.#opening ??= this.#open();
    return this.#opening;
  }

  get #isShort(): boolean {
    const length = this.#announcedLength;
    return !this.#opened && length !== undefined && length > 0 && length <= maximumWhole;
  }
}
