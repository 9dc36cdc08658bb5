import type { Readable } from 'node:stream';

/**
 * Bytes of a body up to which it is sent in one piece when all of it is here already, as it mostly is with the objects
 * that clients write: as many as fit into one frame of HTTP/2 whatever the destination's settings are (RFC 9113
 * section 4.2).
 */
const maximumWhole = 16 * 1024;

/**
 * Bytes of one body that are kept for a second destination, and of all bodies in this process. Most objects are far
 * smaller; a larger one is streamed as it comes and cannot be sent twice.
 */
export const maximumKept = 64 * 1024;
export const maximumKeptByAll = 16 * 1024 * 1024;
let keptByAll = 0;

/**
 * The body of one inbound request: opened once, however many destinations are tried, unless it is kept and given from
 * its first byte on again.
 */
export class BodySource {
  readonly #open: () => Readable;
  readonly #isCutShort: () => boolean;
  readonly #announcedLength: number | undefined;
  #opening: Readable | undefined;
  #opened = false;
  /** What has been read so far, from the first byte on; `undefined` when it is not kept. */
  #kept: Uint8Array[] | undefined;
  #keptBytes = 0;
  /** What a second destination gets before the rest of the stream. */
  #again: readonly Uint8Array[] = [];
  #reader: { stop(): void } | undefined;

  /**
   * @param isCutShort whether what has ended is a part only. Default: it never is.
   * @param announcedLength bytes, from `Content-Length`.
   */
  constructor(open: () => Readable, isCutShort: () => boolean = () => false, announcedLength?: number) {
    this.#open = open;
    this.#isCutShort = isCutShort;
    this.#announcedLength = announcedLength;
  }

  /** Asked at the end of the body: whether it is a part only. */
  get isCutShort(): boolean {
    return this.#isCutShort();
  }

  /** Whether reading has begun; from then on no other destination can be given the whole body. */
  get opened(): boolean {
    return this.#opened;
  }

  /** @param reader is stopped before another one begins. */
  open(reader?: { stop(): void }): Readable {
    this.#opened = true;
    this.#reader = reader;
    return this.#stream;
  }

  /** Keeps what is read from now on, within the limits. Costs a short body that has arrived nothing. */
  keep(): void {
    if (!this.#opened) this.#kept = [];
  }

  /** No other destination will be asked. */
  forget(): void {
    keptByAll -= this.#keptBytes;
    this.#keptBytes = 0;
    this.#kept = undefined;
  }

  /**
   * Has the next reader begin at the first byte again; whoever has read so far gets nothing more.
   * @returns false when a part of the body is gone.
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

  /** A chunk went to the reader. */
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

  /** What was read before it was rewound: comes before what `open` gives. Given once. */
  takeRead(): readonly Uint8Array[] {
    const again = this.#again;
    this.#again = [];
    return again;
  }

  /** Whether the body is a short one that has not arrived yet: Go's clients write head and body one after the other. */
  get isAwaited(): boolean {
    return this.#isShort && this.#again.length === 0 && this.#stream.readableLength !== this.#announcedLength;
  }

  /** All of a short body, if it has arrived; else nothing is touched. */
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
    // Both parsers hold a body to its announced length (RFC 9112 section 6.3, RFC 9113 section 8.1.1): it is whole.
    if (stream.readableLength !== length || this.#isCutShort()) return undefined;
    // Without a length Node gives the first of several pieces only.
    const bytes: unknown = stream.read(length);
    if (!(bytes instanceof Uint8Array)) return undefined;
    this.#opened = true;
    // Held until the head of the answer anyway (`RequestBody`), and so not counted.
    this.#kept?.push(bytes);
    // Nothing follows but its end, without which an HTTP/2 stream would pass for an upload in progress.
    stream.resume();
    return bytes;
  }

  /** One for all readers: what it has given it does not give again. */
  get #stream(): Readable {
    this.#opening ??= this.#open();
    return this.#opening;
  }

  get #isShort(): boolean {
    const length = this.#announcedLength;
    return !this.#opened && length !== undefined && length > 0 && length <= maximumWhole;
  }
}
