import { constants, type ServerHttp2Stream } from 'node:http2';
import { frame, frameFlag, frameType } from '../../support/security/raw-http2.ts';
import type { Asked } from './asked.ts';
import type { SeenRequest } from './record.ts';
import type { Wire } from './wire.ts';

/** A request over HTTP/2. */
export class Http2Asked implements Asked {
  readonly protocol = 'h2';
  readonly seen: SeenRequest;
  readonly isWatch: boolean;
  readonly #stream: ServerHttp2Stream;
  readonly #wire: Wire;

  constructor(seen: SeenRequest, stream: ServerHttp2Stream, wire: Wire) {
    this.seen = seen;
    this.isWatch = seen.target.includes('watch=true');
    this.#stream = stream;
    this.#wire = wire;
    stream.on('error', () => {});
    stream.once('close', () => {
      seen.isOver = true;
      if (seen.answer.end === 'open') seen.answer.end = 'broken';
    });
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
    this.#broken();
    if (code === constants.NGHTTP2_REFUSED_STREAM) this.seen.answer.refused = true;
    // Node's own close() would end the stream first, with END_STREAM.
    const payload = Buffer.alloc(4);
    payload.writeUInt32BE(code);
    this.raw(frame(frameType.rstStream, frameFlag.none, this.streamId, payload));
    this.#stream.destroy();
  }

  hangUp(): void {
    this.#broken();
    this.#wire.tls.end();
  }

  cut(): void {
    this.#broken();
    this.#wire.tcp.resetAndDestroy();
  }

  raw(bytes: string | Buffer): void {
    if (this.#wire.tls.writable)
      this.#wire.tls.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  }

  get streamId(): number {
    return this.#stream.id ?? 0;
  }

  #broken(): void {
    if (this.seen.answer.end === 'open') this.seen.answer.end = 'broken';
  }
}
