import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { announcesBody } from '../../request/inbound.ts';
import type { AnswerSink } from '../exchange/answer-sink.ts';
import { type NodeInboundOptions, NodeInboundRequest } from '../exchange/node-inbound.ts';
import { endHttp1TimedOut } from '../exchange/request-timed-out.ts';
import { Http1Answer } from './http1-answer.ts';

/** A request that came by HTTP/1.1, or 1.0. */
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

  /** The parser breaks the stream off where the framing says that something is missing. */
  protected get isBodyCutShort(): boolean {
    return false;
  }

  get isClosed(): boolean {
    return this.#outgoing.destroyed;
  }

  answerSink(): AnswerSink {
    return new Http1Answer(this.#outgoing, this);
  }

  protected get remoteAddress(): string | undefined {
    return this.carrier.socket.remoteAddress;
  }

  protected get isAnswered(): boolean {
    return this.#outgoing.writableFinished;
  }

  protected onClose(listener: () => void): void {
    this.#outgoing.on('close', listener);
  }

  protected endTimedOut(more: Readonly<Record<string, string>>): boolean {
    return endHttp1TimedOut(this.carrier, this.#outgoing, this, more);
  }
}
