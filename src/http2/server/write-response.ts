import type { AnswerWriter, IncomingStream } from './incoming-stream.ts';

/**
 * Writes a web `Response` into a stream, as fast as its client takes it. When the client goes away the body is cancelled.
 * @throws when the head cannot be written, or the body fails: the answer is to be broken off.
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

/** The body of one answer on its way. */
class BodyWriter implements AnswerWriter {
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
      // As the standard has it of every body (https://fetch.spec.whatwg.org/#incrementally-read-loop).
      if (!(value instanceof Uint8Array))
        throw new TypeError('a piece of the body of the answer is no Uint8Array');
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
    // Ends the read that is under way, too.
    this.#reader.cancel().catch(() => {});
    this.#resume();
  }
}
