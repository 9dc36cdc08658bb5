import type { ServerHttp2Stream } from 'node:http2';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { RawHeaders } from '../apimachinery/raw-headers.ts';
import type { InboundRequest } from '../proxy/inbound.ts';
import { answerLines, hasContent } from './answer-lines.ts';
import type { AnswerSink } from './answer-sink.ts';
import { ClientSide } from './client-side.ts';
import { appendHttp2Lines } from './connection-headers.ts';
import { contentLength } from './content-length.ts';
import { endConnectionAfter } from './end-after-unauthorized.ts';

/** An answer on its way into the HTTP/2 stream that its request came on. */
export class Http2Answer implements AnswerSink {
  readonly #stream: ServerHttp2Stream;
  readonly #client: ClientSide;
  #hasContent = true;

  constructor(stream: ServerHttp2Stream, inbound: Required<Pick<InboundRequest, 'onFinished'>>) {
    this.#stream = stream;
    this.#client = new ClientSide(stream, inbound);
  }

  attach(onDrain: () => void, onGone: () => void): void {
    this.#client.attach(onDrain, onGone);
  }

  release(): void {
    this.#client.release();
  }

  start(status: number, _statusMessage: string, headers: RawHeaders): Response {
    const stream = this.#stream;
    this.#hasContent = hasContent(status);
    stream.respond(appendHttp2Lines([':status', String(status)], answerLines(status, headers)));
    this.#client.announce(contentLength(headers));
    if (status === 401) endConnectionAfter(stream);
    return RESPONSE_ALREADY_SENT;
  }

  write(chunk: Uint8Array): boolean {
    return this.#hasContent ? this.#client.write(chunk) : true;
  }

  lend(chunk: Uint8Array): boolean {
    return this.#hasContent ? this.#client.lend(chunk) : true;
  }

  end(): void {
    this.#client.end();
  }

  breakOff(error: Error): void {
    // Resets with INTERNAL_ERROR. close() with that code would end the stream first, and the part pass for the whole.
    this.#stream.destroy(error);
  }
}
