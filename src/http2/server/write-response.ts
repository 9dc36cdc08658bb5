import type { IncomingStream, ResponseWriter } from './incoming-stream.ts';

/**
 * Writes a web `Response` to a stream, as fast as the client reads it. If the client goes away, the body is cancelled.
 * @throws if the head is invalid or the body fails: the caller must reset the stream.
 */
export async function writeResponse(response: Response, stream: IncomingStream): Promise<void> {
  const { status, headers, body } = response;
  const lines: string[] = [];
  for (const [name, value] of headers) lines.push(name, value);
  stream.respond(status, lines);
  if (body !== null && stream.takesContent) await new BodyWriter(stream, body).write();
  else body?.cancel().catch(() => {});
  stream.end();
}

class BodyWriter implements ResponseWriter {
  readonly #stream: IncomingStream;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #resume: () => void = () => {};

  constructor(stream: IncomingStream, body: ReadableStream<Uint8Array>) {
    this.#stream = stream;
    this.#reader = body.getReader();
    stream.writer = this;
  }

  async write(): Promise<void> {
    for (;;) {
      const { done, value } = await this.#reader.read();
      if (done) return;
      // https://fetch.spec.whatwg.org/#incrementally-read-loop
      if (!(value instanceof Uint8Array))
        throw new TypeError('a chunk of the response body is not a Uint8Array');
      if (!this.#stream.write(value)) {
        await new Promise<void>((resolve) => {
          this.#resume = resolve;
        });
      }
    }
  }

  onRoom(): void {
    this.#resume();
  }

  onClosed(): void {
    // Also ends a pending read.
    this.#reader.cancel().catch(() => {});
    this.#resume();
  }
}
