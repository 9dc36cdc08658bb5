import {
  type HeldBytes,
  hasContent,
  mayHaveLength,
  type ResponseWriter,
} from '../../../packages/http2/shared.ts';
import { firstHeader, headerLines, type RawHeaders } from '../../apimachinery/raw-headers.ts';

/** Where a response goes: a stream of an HTTP/2 client is one itself. */
export interface ResponseSink {
  readonly held?: HeldBytes | undefined;
  /** Where nothing is written to a client's connection: the response, since its head. */
  readonly response?: Response | undefined;
  /** The client has had a head already, of another response: one of a time-out. */
  readonly hasBegun?: boolean | undefined;
  attach(writer: ResponseWriter): void;
  release(): void;
  /**
   * Writes the head.
   * @param reason phrase; HTTP/2 has none
   * @throws if it is invalid; nothing was written then.
   */
  respond(status: number, headers: RawHeaders, reason?: string): void;
  /**
   * @param chunk may be overwritten as soon as this returns
   * @returns false when the client is slower: wait for `onRoom`
   */
  write(chunk: Uint8Array): boolean;
  end(): void;
  /** Breaks the response off: the client must not take a part for the whole. */
  breakOff(error: Error): void;
}

/** The `Content-Length` in bytes (RFC 9110 section 8.6); `undefined` if there is none or it is no plain number. */
export function contentLength(headers: RawHeaders): number | undefined {
  const value = firstHeader(headers, 'content-length');
  return value === undefined || !/^\d+$/.test(value) ? undefined : Number(value);
}

export function reasonPhrase(text: string): string {
  return /^[\x20-\x7e\t]*$/.test(text) ? text : '';
}

/** Makes a web `Response`: for callers of `app.fetch()` without a server, and for documents that we read ourselves. */
export class WebResponseSink implements ResponseSink {
  readonly #signal: AbortSignal;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #hasContent = true;
  #writer: ResponseWriter | undefined;
  response: Response | undefined;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  attach(writer: ResponseWriter): void {
    this.#writer = writer;
    if (this.#signal.aborted) writer.onGone();
    else this.#signal.addEventListener('abort', this.#onAbort);
  }

  release(): void {
    this.#signal.removeEventListener('abort', this.#onAbort);
  }

  /** As with `fetch`: after an abort a reader gets the error instead of waiting for ever. */
  readonly #onAbort = (): void => {
    this.#writer?.onGone();
    this.#controller?.error(this.#signal.reason);
  };

  respond(status: number, headers: RawHeaders, reason = ''): void {
    this.#hasContent = hasContent(status);
    const lines = new Headers();
    for (const [name, value] of headerLines(headers)) lines.append(name, value);
    if (!mayHaveLength(status)) lines.delete('content-length');
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#writer?.onRoom(),
        cancel: () => this.#writer?.onGone(),
      },
      { highWaterMark: 1 },
    );
    // `Response` throws for a body with such a status (Fetch section 2.2.3).
    this.response = new Response(this.#hasContent ? body : null, {
      status,
      statusText: reasonPhrase(reason),
      headers: lines,
    });
  }

  write(chunk: Uint8Array): boolean {
    // Nothing reads it: enqueued, it would stop the destination for ever.
    if (!this.#hasContent) return true;
    this.#controller?.enqueue(Buffer.from(chunk));
    return (this.#controller?.desiredSize ?? 0) > 0;
  }

  end(): void {
    this.release();
    this.#controller?.close();
  }

  breakOff(error: Error): void {
    this.release();
    this.#controller?.error(error);
  }
}
