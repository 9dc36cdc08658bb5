import type { Readable } from 'node:stream';
import type { SendWindow } from '../frames/flow-window.ts';
import { defaultMaximumFrameSize, errorCode } from '../frames/frame.ts';
import type { FrameOutput, WaitingStream } from '../frames/frame-output.ts';

export interface UploadStream {
  readonly id: number;
  readonly sendWindow: SendWindow;
  /** END_STREAM was written. */
  uploadEnded(): void;
  reset(code: number, error: Error): void;
}

/** The content of one request, sent as fast as the server takes it. */
export class RequestUpload implements WaitingStream {
  isWaiting = false;
  readonly #output: FrameOutput;
  readonly #stream: UploadStream;
  readonly #source: Readable | undefined;
  /** Read from the source and not sent yet; not empty. */
  #pending: Uint8Array | undefined;
  /** Nothing follows the pending bytes. */
  #ended: boolean;
  /** Everything was sent, or the stream is closed. */
  #isOver = false;

  /** @param content is read from the first `proceed` on */
  constructor(output: FrameOutput, stream: UploadStream, content: Uint8Array | Readable) {
    this.#output = output;
    this.#stream = stream;
    this.#ended = content instanceof Uint8Array;
    if (content instanceof Uint8Array) {
      if (content.length > 0) this.#pending = content;
      return;
    }
    this.#source = content;
    content.on('data', this.#taken).on('end', this.#finished);
    content.on('error', this.#failed).on('close', this.#closed);
    // Its events are over.
    if (content.closed) process.nextTick(this.#closed);
  }

  get hasQueuedContent(): boolean {
    return this.#pending !== undefined;
  }

  /** Sends what the windows and the socket allow. */
  proceed(): void {
    const output = this.#output;
    const { id, sendWindow } = this.#stream;
    let isEndSent = false;
    while (this.#pending !== undefined) {
      const pending = this.#pending;
      // A frame at a time: what the server does not read now stays with its source.
      const piece = pending.subarray(0, defaultMaximumFrameSize);
      isEndSent = this.#ended && piece.length === pending.length;
      const sent = output.needsDrain ? 0 : output.data(id, sendWindow, piece, isEndSent);
      if (sent > 0) this.#pending = sent === pending.length ? undefined : pending.subarray(sent);
      if (sent < piece.length) {
        output.wait(this);
        return;
      }
    }
    output.stopWaiting(this);
    if (!this.#ended) {
      this.#source?.resume();
      return;
    }
    if (!isEndSent) output.endStream(id);
    this.#isOver = true;
    this.#stream.uploadEnded();
  }

  /** The stream is closed. */
  stop(): void {
    this.#output.stopWaiting(this);
    this.#pending = undefined;
    this.#isOver = true;
    // The error listener stays: a source that fails later must not throw an unhandled error.
    this.#source?.off('data', this.#taken).off('end', this.#finished).pause();
  }

  readonly #taken = (chunk: unknown): void => {
    // A stream in object mode, or with an encoding, has strings.
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    if (!(bytes instanceof Uint8Array)) {
      this.#failed(new TypeError('a piece of the request body is neither bytes nor a string'));
      return;
    }
    if (bytes.length === 0) return;
    this.#source?.pause();
    this.#pending = bytes;
    this.proceed();
  };

  readonly #finished = (): void => {
    this.#ended = true;
    if (this.#pending === undefined) this.proceed();
  };

  readonly #failed = (error: Error): void => {
    // The response may still wait for its reader.
    if (this.#isOver) return;
    // Without END_STREAM: the server must not take a part for the whole body.
    this.#stream.reset(errorCode.cancel, error);
  };

  /** Destroyed without an error, a source has no 'end'. */
  readonly #closed = (): void => {
    if (!this.#ended) this.#failed(new Error('the request body was closed before its end'));
  };
}
