import type { Readable } from 'node:stream';
import { BodyStream } from './body-stream.ts';

/**
 * Bytes of a body up to which it is sent in one piece when all of it is here already, as it mostly is with the objects
 * that clients write: as many as fit into one frame of HTTP/2 whatever the destination's settings are (RFC 9113
 * section 4.2).
 */
const maximumWhole = 16 * 1024;

/** The body of one inbound request: opened at most once, however many destinations are tried. */
export class BodySource {
  readonly #open: () => Readable;
  readonly #isCutShort: () => boolean;
  readonly #announcedLength: number | undefined;
  #opened = false;

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

  open(): Readable {
    this.#opened = true;
    return this.#open();
  }

  /** Whether the body is a short one that has not arrived yet: Go's clients write head and body one after the other. */
  get isAwaited(): boolean {
    return this.#isShort && this.#open().readableLength !== this.#announcedLength;
  }

  /** All of a short body, if it has arrived; else nothing is touched. */
  takeWhole(): Uint8Array | undefined {
    if (!this.#isShort) return undefined;
    const length = this.#announcedLength;
    const stream = this.#open();
    // Both parsers hold a body to its announced length (RFC 9112 section 6.3, RFC 9113 section 8.1.1): it is whole.
    if (stream.readableLength !== length || this.#isCutShort()) return undefined;
    // Without a length Node gives the first of several pieces only.
    const bytes: unknown = stream.read(length);
    if (!(bytes instanceof Uint8Array)) return undefined;
    this.#opened = true;
    // Nothing follows but its end, without which an HTTP/2 stream would pass for an upload in progress.
    stream.resume();
    return bytes;
  }

  get #isShort(): boolean {
    const length = this.#announcedLength;
    return !this.#opened && length !== undefined && length > 0 && length <= maximumWhole;
  }
}

/** The body of one request for whichever destination takes it: in one piece if it is here already, else as a stream. */
export class RequestBody {
  readonly #source: BodySource;
  readonly #onProgress: () => void;
  #whole: Uint8Array | undefined;
  #stream: BodyStream | undefined;

  /** @param onProgress called for each chunk taken from the client while the body is streamed. */
  constructor(source: BodySource, onProgress: () => void) {
    this.#source = source;
    this.#onProgress = onProgress;
  }

  /** All of a short body that is here already; kept for a destination that may have to be asked again. */
  takeWhole(): Uint8Array | undefined {
    if (this.#stream === undefined) this.#whole ??= this.#source.takeWhole();
    return this.#whole;
  }

  /** What is left to send: the whole body where it was taken, else a stream that begins to read when it is read. */
  get content(): Uint8Array | BodyStream {
    if (this.#whole !== undefined) return this.#whole;
    this.#stream ??= new BodyStream(this.#source, this.#onProgress);
    return this.#stream;
  }

  /** Nobody is asked again: an answer that lasts for long must not keep it. */
  forget(): void {
    this.#whole = undefined;
  }

  /** Stops taking from the client. */
  destroy(): void {
    this.#stream?.destroy();
  }
}
