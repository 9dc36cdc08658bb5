import type { Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { RequestHead } from '../http2/server/request-head.ts';
import type { AnswerWriter, ServerStream } from '../http2/server/server-stream.ts';
import { writeResponse } from '../http2/server/write-response.ts';
import type { AnswerSink } from './answer-sink.ts';
import { type AnsweredRequest, StreamAnswer } from './http2-stream-answer.ts';
import { type NodeInboundOptions, NodeInboundRequest } from './node-inbound.ts';
import { timedOutResponse } from './request-timed-out.ts';

/** The connection that a request came on. */
export interface StreamInboundConnection {
  readonly socket: TLSSocket;
  /** Takes no new requests, and ends behind those that are under way. */
  close(): void;
}

/** A request that came by HTTP/2, with the answer to it. */
export class StreamInbound extends NodeInboundRequest implements AnswerWriter, AnsweredRequest {
  protected readonly carrier: StreamInboundConnection;
  readonly #stream: ServerStream;
  #answer: StreamAnswer | undefined;
  #onClose: (() => void) | undefined;
  #endsConnection = false;

  constructor(
    head: RequestHead,
    stream: ServerStream,
    connection: StreamInboundConnection,
    options: NodeInboundOptions,
  ) {
    super(head.method, head.target, head.headers, '2.0', options);
    this.carrier = connection;
    this.#stream = stream;
    this.hasBody = !stream.isReceived;
    stream.writer = this;
  }

  /** HTTP/2 says so in its framing, not in a header (RFC 9113 section 8.1). */
  readonly hasBody: boolean;

  protected get bodyStream(): Readable {
    return this.#stream.content;
  }

  /** A stream that is closed by the end of its body was reset, or has its answer, and then the rest does not matter. */
  protected get isBodyCutShort(): boolean {
    return this.#stream.isClosed;
  }

  get isClosed(): boolean {
    return this.#stream.isClosed;
  }

  answerSink(): AnswerSink {
    this.#answer = new StreamAnswer(this.#stream, this);
    return this.#answer;
  }

  /** Whether no answer has begun, and there is somebody to read one. */
  get awaitsAnswer(): boolean {
    return !this.#stream.hasBegun && !this.#stream.isClosed;
  }

  /** Writes an answer of the router's own. Rejects when it cannot be written to its end. */
  answerWith(response: Response): Promise<void> {
    return writeResponse(response, this.answerSink());
  }

  /** The same, where nobody waits for it. */
  answerOrBreakOff(response: Response): void {
    this.answerWith(response).catch(() => this.breakOff());
  }

  /** Breaks the exchange off: an answer could not be written. */
  breakOff(): void {
    this.#stream.breakOff();
  }

  begun(status: number): void {
    // A client that is answered 401 has to connect anew for more than a batch of tries (kubernetes#121120).
    if (status === 401) this.#endsConnection = true;
  }

  onRoom(): void {
    this.#answer?.drained();
  }

  onClosed(): void {
    this.#onClose?.();
    if (this.#endsConnection) this.carrier.close();
  }

  protected get remoteAddress(): string | undefined {
    return this.carrier.socket.remoteAddress;
  }

  protected get isAnswered(): boolean {
    return this.#stream.isAnswered;
  }

  protected onClose(listener: () => void): void {
    this.#onClose = listener;
  }

  protected endTimedOut(more: Readonly<Record<string, string>>): boolean {
    if (!this.awaitsAnswer) {
      this.#stream.breakOff();
      return false;
    }
    const response = timedOutResponse(this);
    for (const [name, value] of Object.entries(more)) response.headers.set(name, value);
    this.answerOrBreakOff(response);
    return true;
  }
}
