import type { ServerHttp2Stream } from 'node:http2';
import type { Readable } from 'node:stream';
import type { AnswerSink } from './answer-sink.ts';
import { withJoinedCookies, withoutPseudoHeaders } from './connection-headers.ts';
import { Http2Answer } from './http2-answer.ts';
import { type NodeInboundOptions, NodeInboundRequest } from './node-inbound.ts';
import { endHttp2TimedOut } from './request-timed-out.ts';

/** The head of a request by HTTP/2, as Node's events hand it over. */
export interface Http2RequestHead {
  readonly method: string;
  readonly target: string;
  /** Pseudo-header fields included. */
  readonly rawHeaders: readonly string[];
}

/** A request that came by HTTP/2: its stream, whether or not Node's compatibility objects stand around it. */
export class Http2Inbound extends NodeInboundRequest {
  protected readonly carrier: ServerHttp2Stream;

  constructor(
    stream: ServerHttp2Stream,
    { method, target, rawHeaders }: Http2RequestHead,
    options: NodeInboundOptions,
  ) {
    super(method, target, withJoinedCookies(withoutPseudoHeaders(rawHeaders)), '2.0', options);
    this.carrier = stream;
  }

  /** HTTP/2 says so in its framing, not in a header (RFC 9113 section 8.1). */
  get hasBody(): boolean {
    return !this.carrier.endAfterHeaders;
  }

  protected get bodyStream(): Readable {
    return this.carrier;
  }

  /**
   * Node also ends the readable side of a stream that was reset, with whatever code. After END_STREAM a stream stays
   * open for the answer; one that is closed by the end of its body was reset, or has its answer, and then the rest
   * does not matter.
   */
  protected get isBodyCutShort(): boolean {
    return this.carrier.closed;
  }

  get isClosed(): boolean {
    // Between the two Node may still hold the stream for whoever reads its body; no answer can be written any more.
    return this.carrier.destroyed || this.carrier.closed;
  }

  answerSink(): AnswerSink {
    return new Http2Answer(this.carrier, this);
  }

  protected get remoteAddress(): string | undefined {
    // A session that is gone has no socket any more.
    return this.carrier.session?.socket.remoteAddress;
  }

  protected get isAnswered(): boolean {
    // Of a stream that is reset before its answer has ended Node ends the writable side, too.
    return this.carrier.writableFinished && this.carrier.rstCode === 0 && !this.carrier.aborted;
  }

  protected onClose(listener: () => void): void {
    this.carrier.on('close', listener);
  }

  protected endTimedOut(more: Readonly<Record<string, string>>): boolean {
    return endHttp2TimedOut(this.carrier, this.method, more);
  }
}
