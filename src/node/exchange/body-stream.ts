import { Readable } from 'node:stream';
import type { WholeBody } from '../../http2/client/dispatch-options.ts';
import type { BodySource } from './request-body.ts';

/**
 * The body on its way to one destination. It starts reading when the destination first asks for bytes, so
 * that a failed connect leaves the client's body untouched; and it is not the client's stream itself, because
 * HTTP clients destroy the body of a failed request, which would take the client's socket with it and leave
 * no way to answer.
 */
export class BodyStream extends Readable implements WholeBody {
  readonly #source: BodySource;
  readonly #onProgress: () => void;
  #stream: Readable | undefined;
  #isStopped = false;

  /** @param onProgress called for each chunk taken from the client. */
  constructor(source: BodySource, onProgress: () => void) {
    super();
    this.#source = source;
    this.#onProgress = onProgress;
    // undici reads once and then may find that nobody waits for the answer: it drops the body and listens to nothing.
    this.on('error', () => {});
  }

  /** All of a short body that is here already, so that it goes in one piece with the head. */
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
    // A part must not pass for the whole.
    if (this.#source.isCutShort) {
      this.#onClose();
      return;
    }
    // A 'close' from here on is in order, and this side may still be holding bytes for a slow destination.
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
    // Node ends an HTTP/2 stream without content whether or not anybody reads it.
    if (this.#stream.readableEnded) this.#onEnd();
    // Its 'close' may have been told already. A tick later, for undici listens only behind its first read.
    else if (this.#stream.destroyed) process.nextTick(this.#onClose);
  }

  /** Takes nothing more from the client: another reader does. */
  stop(): void {
    const stream = this.#stream;
    if (stream === undefined) return;
    this.#isStopped = true;
    stream.off('data', this.#onData).off('end', this.#onEnd).off('close', this.#onClose);
    // The error listener stays: a stream that fails later must not find nobody listening.
    stream.pause();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (!this.#isStopped) this.stop();
    callback(error);
  }
}
