import { Readable } from 'node:stream';
import type { WholeBody } from '../../http2/client/dispatched-request.ts';
import type { BodySource } from './request-body.ts';

/**
 * The body for one destination. It starts to read when the destination first asks for bytes, so that a failed connect
 * leaves the client's body untouched. It is not the client's stream itself: HTTP clients destroy the body of a failed
 * request, which would destroy the client's socket, and no response could be sent.
 */
export class BodyStream extends Readable implements WholeBody {
  readonly #source: BodySource;
  readonly #onProgress: () => void;
  #stream: Readable | undefined;
  #isStopped = false;

  /** @param onProgress called for each chunk read from the client */
  constructor(source: BodySource, onProgress: () => void) {
    super();
    this.#source = source;
    this.#onProgress = onProgress;
    // undici may read once, find that the request was cancelled, and drop the body without an error listener.
    this.on('error', () => {});
  }

  /** A short body that has arrived completely: it is sent in one piece with the head. */
  takeWhole(): Uint8Array | undefined {
    return this.#stream === undefined ? this.#source.takeWhole() : undefined;
  }

  readonly #onData = (chunk: Uint8Array): void => {
    this.#onProgress();
    this.#source.passed(chunk);
    if (!this.push(chunk)) this.#stream?.pause();
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

  override _read(): void {
    if (this.#stream !== undefined) {
      if (!this.#isStopped) this.#stream.resume();
      return;
    }
    for (const chunk of this.#source.takeRead()) this.push(chunk);
    this.#stream = this.#source.open(this);
    this.#stream.on('data', this.#onData).on('end', this.#onEnd);
    this.#stream.on('close', this.#onClose).on('error', this.#onClose);
    // An HTTP/2 stream without content ends even if it is not read.
    if (this.#stream.readableEnded) this.#onEnd();
    // 'close' may have been emitted already. Next tick, because undici listens only after its first read.
    else if (this.#stream.destroyed) process.nextTick(this.#onClose);
  }

  /** Stops reading from the client: another reader takes over. */
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
    callback(error);
  }
}
