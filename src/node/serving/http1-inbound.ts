import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { announcesBody } from '../../request/inbound.ts';
import { type NodeInboundOptions, NodeInboundRequest } from '../exchange/node-inbound.ts';
import { endHttp1TimedOut } from '../exchange/request-timed-out.ts';
import type { ResponseSink } from '../exchange/response-sink.ts';
import { Http1ResponseSink } from './http1-response-sink.ts';

/** A request over HTTP/1.1 or 1.0. */
export class Http1Inbound extends NodeInboundRequest {
  protected readonly carrier: IncomingMessage;
  readonly #outgoing: ServerResponse;
  #hasBody: boolean | undefined;

  constructor(incoming: IncomingMessage, outgoing: ServerResponse, options: NodeInboundOptions) {
    super(incoming.method ?? 'GET', incoming.url ?? '', incoming.rawHeaders, incoming.httpVersion, options);
    this.carrier = incoming;
    this.#outgoing = outgoing;
  }

  get hasBody(): boolean {
    this.#hasBody ??= announcesBody(this);
    return this.#hasBody;
  }

  protected get bodyStream(): Readable {
    return this.carrier;
  }

  /** Never: the parser destroys the stream of an incomplete body. */
  protected get isBodyCutShort(): boolean {
    return false;
  }

  get isClosed(): boolean {
    return this.#outgoing.destroyed;
  }

  responseSink(): ResponseSink {
    return new Http1ResponseSink(this.#outgoing, this);
  }

  protected get remoteAddress(): string | undefined {
    return this.carrier.socket.remoteAddress;
  }

  protected get isResponseSent(): boolean {
    return this.#outgoing.writableFinished;
  }

  protected onClose(listener: () => void): void {
    this.#outgoing.on('close', listener);
  }

  protected endTimedOut(more: Readonly<Record<string, string>>): boolean {
    return endHttp1TimedOut(this.carrier, this.#outgoing, this, more);
  }
}
