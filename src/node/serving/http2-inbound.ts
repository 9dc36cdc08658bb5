import type { Readable } from 'node:stream';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { RawHeaders } from '../../apimachinery/raw-headers.ts';
import type { IncomingStream, ResponseWriter, StreamFollower } from '../../http2/server/incoming-stream.ts';
import { type NodeInboundOptions, NodeInboundRequest } from '../exchange/node-inbound.ts';
import { timedOut } from '../exchange/request-timed-out.ts';
import type { ResponseSink } from '../exchange/response-sink.ts';

/** A request over HTTP/2. */
export class Http2Inbound extends NodeInboundRequest implements StreamFollower {
  protected readonly carrier: IncomingStream;
  #onClose: (() => void) | undefined;

  constructor(incoming: IncomingStream, options: NodeInboundOptions) {
    const { method, target, headers } = incoming.head;
    super(method, target, headers, '2.0', options);
    this.carrier = incoming;
    incoming.follow(this);
  }

  /** The framing of HTTP/2 tells, not a header (RFC 9113 section 8.1). */
  get hasBody(): boolean {
    return this.carrier.hasContent;
  }

  protected get bodyStream(): Readable {
    return this.carrier.content;
  }

  /** A stream that is closed at the end of its body was reset, or has its response and needs no body any more. */
  protected get isBodyCutShort(): boolean {
    return this.carrier.isClosed;
  }

  get isClosed(): boolean {
    return this.carrier.isClosed;
  }

  responseSink(): ResponseSink {
    return new Http2ResponseSink(this.carrier);
  }

  onClosed(): void {
    this.#onClose?.();
    // After a 401 a client must reconnect, which limits how fast it can try credentials (kubernetes#121120).
    if (this.carrier.status === 401) this.carrier.closeConnection();
  }

  protected get remoteAddress(): string | undefined {
    return this.carrier.socket.remoteAddress;
  }

  protected get isResponseSent(): boolean {
    return this.carrier.isResponseSent;
  }

  protected onClose(listener: () => void): void {
    this.#onClose = listener;
  }

  protected endTimedOut(more: Readonly<Record<string, string>>): boolean {
    const stream = this.carrier;
    if (stream.status !== undefined) {
      stream.breakOff();
      return false;
    }
    const { code, headers, body } = timedOut(this);
    stream.respond(code, Object.entries({ ...headers, ...more }).flat());
    stream.write(Buffer.from(body));
    stream.end();
    return true;
  }
}

/** Writes a response to the HTTP/2 stream of its request. */
class Http2ResponseSink implements ResponseSink, ResponseWriter {
  readonly #stream: IncomingStream;
  #onDrain: (() => void) | undefined;
  #onGone: (() => void) | undefined;

  constructor(stream: IncomingStream) {
    this.#stream = stream;
  }

  attach(onDrain: () => void, onGone: () => void): void {
    this.#onDrain = onDrain;
    this.#onGone = onGone;
    if (this.#stream.isClosed) onGone();
    else this.#stream.writer = this;
  }

  release(): void {
    this.#onDrain = undefined;
    this.#onGone = undefined;
  }

  onRoom(): void {
    this.#onDrain?.();
  }

  onClosed(): void {
    this.#onGone?.();
  }

  start(status: number, _statusMessage: string, headers: RawHeaders): Response {
    this.#stream.respond(status, headers);
    return RESPONSE_ALREADY_SENT;
  }

  write(chunk: Uint8Array): boolean {
    return this.#stream.write(chunk);
  }

  lend(chunk: Uint8Array): boolean {
    return this.#stream.write(chunk);
  }

  end(): void {
    this.#stream.end();
  }

  breakOff(): void {
    this.#stream.breakOff();
  }
}
