import { Readable } from 'node:stream';
import type { Holding, RequestBody } from '../../../packages/http2/shared.ts';

/**
 * A body up to this size is sent in one piece if it has arrived completely, as most objects have. It fits into one HTTP/2
 * frame with any settings of the destination (RFC 9113 section 4.2). Bytes.
 */
const maximumWhole = 16 * 1024;

/** Bytes of one body that are kept until its response begins. A larger body is streamed and cannot be sent twice. */
export const maximumKept = 1024 * 1024;

/**
 * The body of one inbound request. It is read once, for one destination, unless it is kept: then it can be rewound for
 * another attempt. What is kept is counted, and is the first to go where memory is short: no request ends for that.
 * Rewound, it goes with its next reader, who would take the rest for the whole without it.
 */
export class BodySource {
  readonly #open: () => Readable;
  readonly #isCutShort: () => boolean;
  readonly #announcedLength: number | undefined;
  /** Counts what waits for the destination. Left out: nothing is counted. */
  readonly held: Holding | undefined;
  #keptBytes: Holding | undefined;
  #isGivenUp = false;
  #length = 0;
  #opening: Readable | undefined;
  #opened = false;
  #kept: Uint8Array[] | undefined;
  #reader: { stop(): void } | undefined;

  /**
   * @param isCutShort whether a body that has ended is incomplete. Default: never
   * @param announcedLength bytes, from `Content-Length`
   */
  constructor(
    open: () => Readable,
    isCutShort: () => boolean = () => false,
    announcedLength?: number,
    held?: Holding,
  ) {
    this.held = held;
    this.#open = open;
    this.#isCutShort = isCutShort;
    this.#announcedLength = announcedLength;
  }

  get isCutShort(): boolean {
    return this.#isCutShort();
  }

  /** True if reading has begun: another attempt can only get the body after `rewind`. */
  get opened(): boolean {
    return this.#opened;
  }

  /** @param reader is stopped before another one begins */
  open(reader?: { stop(): void }): Readable {
    this.#opened = true;
    this.#reader = reader;
    this.#forgetGivenUp();
    return this.#stream;
  }

  keep(): void {
    if (this.#opened) return;
    this.#kept = [];
    this.#keptBytes ??= this.held?.account.spare({ giveUp: () => this.#giveUp() });
  }

  #giveUp(): void {
    this.#isGivenUp = true;
    this.#forgetGivenUp();
  }

  #forgetGivenUp(): void {
    if (this.#isGivenUp && this.#opened) this.forget();
  }

  forget(): void {
    this.#keptBytes?.end();
    this.#keptBytes = undefined;
    this.#kept = undefined;
    this.#length = 0;
  }

  /**
   * Lets the next reader begin at the first byte. The current reader is stopped.
   * @returns false if a part of the body was not kept
   */
  rewind(): boolean {
    if (!this.#opened) return true;
    if (this.#kept === undefined) return false;
    this.#reader?.stop();
    this.#reader = undefined;
    this.#opened = false;
    return true;
  }

  passed(chunk: Uint8Array): void {
    if (this.#kept === undefined) return;
    this.#length += chunk.byteLength;
    if (this.#length > maximumKept || this.held?.account.hasRoomFor(chunk.byteLength) === false) {
      this.forget();
      return;
    }
    this.#keptBytes?.add(chunk.byteLength);
    this.#kept.push(chunk);
  }

  get alreadyRead(): readonly Uint8Array[] {
    return this.#kept ?? [];
  }

  /** True if the body is short and has not arrived yet: Go's clients write head and body separately. */
  get isAwaited(): boolean {
    if (!this.#isShort || this.alreadyRead.length > 0) return false;
    return this.#stream.readableLength !== this.#announcedLength;
  }

  takeWhole(): Uint8Array | undefined {
    if (!this.#isShort) return undefined;
    const length = this.#announcedLength;
    const [first] = this.alreadyRead;
    if (first !== undefined) {
      if (first.byteLength !== length) return undefined;
      this.#opened = true;
      this.#forgetGivenUp();
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

  get #stream(): Readable {
    this.#opening ??= this.#open();
    return this.#opening;
  }

  get #isShort(): boolean {
    const length = this.#announcedLength;
    return !this.#opened && length !== undefined && length > 0 && length <= maximumWhole;
  }
}

/**
 * The body for one attempt. It starts to read when the destination first asks for bytes, so that a failed connect
 * leaves the client's body untouched. It is not the client's stream itself: HTTP clients destroy the body of a failed
 * request, which would destroy the client's socket, and no response could be sent.
 */
export class BodyStream extends Readable implements RequestBody {
  readonly #source: BodySource;
  readonly #onProgress: () => void;
  #stream: Readable | undefined;
  #isStopped = false;
  #counted = 0;

  constructor(source: BodySource, onProgress: () => void) {
    super();
    this.#source = source;
    this.#onProgress = onProgress;
    // undici may read once, find that the request was cancelled, and drop the body without an error listener.
    this.on('error', () => {});
  }

  takeWhole(): Uint8Array | undefined {
    return this.#stream === undefined ? this.#source.takeWhole() : undefined;
  }

  again(): BodyStream | undefined {
    return this.#source.rewind() ? new BodyStream(this.#source, this.#onProgress) : undefined;
  }

  readonly #onData = (chunk: Uint8Array): void => {
    this.#onProgress();
    this.#source.passed(chunk);
    const hasRoom = this.push(chunk);
    this.#count();
    if (!hasRoom) this.#stream?.pause();
  };
  readonly #onEnd = (): void => {
    const stream = this.#stream;
    // The destination must not take a part for the whole.
    if (this.#source.isCutShort) {
      this.#onClose();
      return;
    }
    // A 'close' is normal from here on, and bytes for a slow destination may still be buffered.
    stream?.off('close', this.#onClose);
    this.push(null);
  };
  readonly #onClose = (): void => {
    this.destroy(new Error('the client closed the connection before the end of the request body'));
  };

  #count(): void {
    const waiting = this.destroyed ? 0 : this.readableLength;
    this.#source.held?.add(waiting - this.#counted);
    this.#counted = waiting;
  }

  override read(size?: number): ReturnType<Readable['read']> {
    const piece = super.read(size);
    this.#count();
    return piece;
  }

  override _read(): void {
    if (this.#stream !== undefined) {
      if (!this.#isStopped) this.#stream.resume();
      return;
    }
    for (const chunk of this.#source.alreadyRead) this.push(chunk);
    this.#stream = this.#source.open(this);
    this.#stream.on('data', this.#onData).on('end', this.#onEnd);
    this.#stream.on('close', this.#onClose).on('error', this.#onClose);
    this.#stream.resume();
    // An HTTP/2 stream without content ends even if it is not read.
    if (this.#stream.readableEnded) this.#onEnd();
    // 'close' may have been emitted already. Next tick, because undici listens only after its first read.
    else if (this.#stream.destroyed) process.nextTick(this.#onClose);
  }

  stop(): void {
    const stream = this.#stream;
    if (stream === undefined) return;
    this.#isStopped = true;
    stream.off('data', this.#onData).off('end', this.#onEnd).off('close', this.#onClose);
    // The error listener stays: a stream that fails later must not throw an unhandled error.
    stream.pause();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (!this.#isStopped) this.stop();
    this.#count();
    callback(error);
  }
}
