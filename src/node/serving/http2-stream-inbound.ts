import type { Readable } from 'node:stream';
import type { IncomingStream, StreamFollower } from '../../http2/server/incoming-stream.ts';
import type { AnswerSink } from '../exchange/answer-sink.ts';
import { type NodeInboundOptions, NodeInboundRequest } from '../exchange/node-inbound.ts';
import { timedOut } from '../exchange/request-timed-out.ts';
import { StreamAnswer } from './http2-stream-answer.ts';

/** A request that came by HTTP/2, with the answer to it. */
export class StreamInbound extends NodeInboundRequest implements StreamFollower {
  protected readonly carrier: IncomingStream;
  #onClose: (() => void) | undefined;

  constructor(incoming: IncomingStream, options: NodeInboundOptions) {
    const { method, target, headers } = incoming.head;
    super(method, target, headers, '2.0', options);
    this.carrier = incoming;
    incoming.follow(this);
  }

  /** HTTP/2 says so in its framing, not in a header (RFC 9113 section 8.1). */
  get hasBody(): boolean {
    return this.carrier.hasContent;
  }

  protected get bodyStream(): Readable {
    return this.carrier.content;
  }

  /** A stream that is closed by the end of its body was reset, or has its answer, and then the rest does not matter. */
  protected get isBodyCutShort(): boolean {
    return this.carrier.isClosed;
  }

  get isClosed(): boolean {
    return this.carrier.isClosed;
  }

  answerSink(): AnswerSink {
    return new StreamAnswer(this.carrier);
  }

  onClosed(): void {
    this.#onClose?.();
    // A client that is answered 401 has to connect anew for more than a batch of tries (kubernetes#121120).
    if (this.carrier.status === 401) this.carrier.closeConnection();
  }

  protected get remoteAddress(): string | undefined {
    return this.carrier.socket.remoteAddress;
  }

  protected get isAnswered(): boolean {
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
