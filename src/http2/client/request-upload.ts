import type { Readable } from 'node:stream';
import type { SendWindow } from '../frames/flow-window.ts';
import { defaultMaximumFrameSize, errorCode, frameFlag, frameHead, frameType } from '../frames/frame.ts';
import type { FrameWriter } from './frame-writer.ts';

export interface UploadConnection {
  readonly writer: FrameWriter;
  readonly sendWindow: SendWindow;
  /** Uploads that wait for a window or for the socket. Their `proceed` is called when there may be room. */
  readonly waitingUploads: Set<RequestUpload>;
}

export interface UploadStream {
  readonly id: number;
  readonly sendWindow: SendWindow;
  /** END_STREAM was written. */
  uploadEnded(): void;
  reset(code: number, error: Error): void;
}

/** The content of one request, sent as fast as the server takes it. */
export class RequestUpload {
  readonly #connection: UploadConnection;
  readonly #stream: UploadStream;
  readonly #source: Readable | undefined;
  /** Read from the source and not sent yet. */
  #pending: Uint8Array | undefined;
  /** Nothing follows the pending bytes. */
  #ended: boolean;

  /** @param content is read from the first `proceed` on */
  constructor(connection: UploadConnection, stream: UploadStream, content: Uint8Array | Readable) {
    this.#connection = connection;
    this.#stream = stream;
    this.#ended = content instanceof Uint8Array;
    if (content instanceof Uint8Array) {
      this.#pending = content;
      return;
    }
    this.#source = content;
    content.on('data', this.#taken).on('end', this.#finished).on('error', this.#failed);
  }

  /** Sends what the windows and the socket allow. */
  proceed(): void {
    const { writer, sendWindow, waitingUploads } = this.#connection;
    const stream = this.#stream;
    waitingUploads.delete(this);
    while (this.#pending !== undefined) {
      const pending = this.#pending;
      const windows = Math.max(0, Math.min(sendWindow.left, stream.sendWindow.left));
      const room = Math.min(pending.length, windows, defaultMaximumFrameSize);
      if ((room === 0 && pending.length > 0) || writer.needsDrain) {
        waitingUploads.add(this);
        return;
      }
      const isAll = room === pending.length;
      this.#pending = isAll ? undefined : pending.subarray(room);
      const isLast = isAll && this.#ended;
      sendWindow.take(room);
      stream.sendWindow.take(room);
      const flags = isLast ? frameFlag.endStream : frameFlag.none;
      writer.write(frameHead(room, frameType.data, flags, stream.id));
      writer.write(pending.subarray(0, room));
      if (isLast) {
        stream.uploadEnded();
        return;
      }
    }
    if (this.#ended) {
      writer.write(frameHead(0, frameType.data, frameFlag.endStream, stream.id));
      stream.uploadEnded();
    } else {
      this.#source?.resume();
    }
  }

  /** The stream is closed. */
  stop(): void {
    this.#connection.waitingUploads.delete(this);
    this.#pending = undefined;
    // The error listener stays: a source that fails later must not throw an unhandled error.
    this.#source?.off('data', this.#taken).off('end', this.#finished).pause();
  }

  readonly #taken = (chunk: Uint8Array): void => {
    if (chunk.length === 0) return;
    this.#source?.pause();
    this.#pending = chunk;
    this.proceed();
  };

  readonly #finished = (): void => {
    this.#ended = true;
    if (this.#pending === undefined) this.proceed();
  };

  readonly #failed = (error: Error): void => {
    // Without END_STREAM: the server must not take a part for the whole body.
    this.#stream.reset(errorCode.cancel, error);
  };
}
