import type { Readable } from 'node:stream';
import type { IncomingStream, StreamFollower } from '../../http2/server/incoming-stream.ts';
import { type NodeInboundOptions, NodeInboundRequest } from '../exchange/node-inbound.ts';
import { timedOut } from '../exchange/request-timed-out.ts';
import type { ResponseSink } from '../exchange/response-sink.ts';
import { Http2ResponseSink } from './http2-response-sink.ts';

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
