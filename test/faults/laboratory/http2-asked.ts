import { constants, type ServerHttp2Stream } from 'node:http2';
import { frame, frameFlag, frameType } from '../../support/security/raw-http2.ts';
import type { Asked } from './asked.ts';
import type { SeenRequest } from './record.ts';
import type { Wire } from './wire.ts';
import { WireAsked } from './wire-asked.ts';

/** A request over HTTP/2. */
export class Http2Asked extends WireAsked implements Asked {
  readonly protocol = 'h2';
  readonly isWatch: boolean;
  readonly #stream: ServerHttp2Stream;

  constructor(seen: SeenRequest, stream: ServerHttp2Stream, wire: Wire) {
    super(seen, wire, stream);
    this.isWatch = seen.target.includes('watch=true');
    this.#stream = stream;
  }

  begin(status: number, headers: Readonly<Record<string, string>> = {}): void {
    this.seen.answer.status = status;
    this.#stream.respond({ ':status': status, ...headers });
  }

  send(content: string): void {
    this.seen.answer.content += content;
    this.#stream.write(content);
  }

  end(): void {
    this.seen.answer.end = 'whole';
    this.#stream.end();
  }

  reset(code: number = constants.NGHTTP2_INTERNAL_ERROR): void {
    this.broken();
    if (code === constants.NGHTTP2_REFUSED_STREAM) this.seen.answer.refused = true;
    // Node's own close() would end the stream first, with END_STREAM.
    const payload = Buffer.alloc(4);
    payload.writeUInt32BE(code);
    this.raw(frame(frameType.rstStream, frameFlag.none, this.streamId, payload));
    this.#stream.destroy();
  }

  get streamId(): number {
    return this.#stream.id ?? 0;
  }
}
