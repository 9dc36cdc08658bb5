import { Http2ServerRequest } from 'node:http2';
import { Readable } from 'node:stream';
import type { InboundRequest } from '../proxy/inbound.ts';
import { NodeInboundRequest } from './node-inbound.ts';

/** The body of one inbound request: opened at most once, however many destinations are tried. */
export class BodySource {
  readonly #open: () => Readable;
  #opened = false;

  constructor(open: () => Readable) {
    this.#open = open;
  }

  /** Whether reading has begun; from then on no other destination can be given the whole body. */
  get opened(): boolean {
    return this.#opened;
  }

  open(): Readable {
    this.#opened = true;
    return this.#open();
  }
}

const sources = new WeakMap<InboundRequest, BodySource | 'none'>();

/** `undefined` when the request has no body. */
export function bodySourceOf(inbound: InboundRequest): BodySource | undefined {
  if (inbound instanceof NodeInboundRequest && !inbound.hasBody) return undefined;
  let source = sources.get(inbound);
  if (source === undefined) {
    source = newSource(inbound);
    sources.set(inbound, source);
  }
  return source === 'none' ? undefined : source;
}

function newSource(inbound: InboundRequest): BodySource | 'none' {
  if (inbound instanceof NodeInboundRequest) return new BodySource(() => inbound.incoming);
  const stream = inbound.body();
  return stream === null ? 'none' : new BodySource(() => Readable.fromWeb(stream));
}

/**
 * The body on its way to one destination. It starts reading when the destination first asks for bytes, so
 * that a failed connect leaves the client's body untouched; and it is not the client's stream itself, because
 * HTTP clients destroy the body of a failed request, which would take the client's socket with it and leave
 * no way to answer.
 */
export class RequestBody extends Readable {
  readonly #source: BodySource;
  readonly #onProgress: () => void;
  #stream: Readable | undefined;

  /** @param onProgress called for each chunk taken from the client. */
  constructor(source: BodySource, onProgress: () => void) {
    super();
    this.#source = source;
    this.#onProgress = onProgress;
  }

  readonly #onData = (chunk: Uint8Array): void => {
    this.#onProgress();
    if (!this.push(chunk)) this.#stream?.pause();
  };
  readonly #onEnd = (): void => {
    const stream = this.#stream;
    // Node also ends the body of an HTTP/2 stream that was reset, with whatever code: a part must not pass for the
    // whole. After END_STREAM the stream stays open for the answer; one that is closed by now was reset, or has
    // its answer, and then the rest does not matter.
    if (stream instanceof Http2ServerRequest && stream.stream.closed) {
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
      this.#stream.resume();
      return;
    }
    this.#stream = this.#source.open();
    this.#stream.on('data', this.#onData).on('end', this.#onEnd);
    this.#stream.on('close', this.#onClose).on('error', this.#onClose);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    const stream = this.#stream;
    if (stream !== undefined) {
      stream.off('data', this.#onData).off('end', this.#onEnd).off('close', this.#onClose);
      // The error listener stays: a stream that fails later must not find nobody listening.
      stream.pause();
    }
    callback(error);
  }
}
