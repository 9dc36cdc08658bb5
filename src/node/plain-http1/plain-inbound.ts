import { STATUS_CODES } from 'node:http';
import { Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { type RawHeaders, rawHeadersOf } from '../../apimachinery/raw-headers.ts';
import type { AnswerSink } from '../answer-sink.ts';
import { type NodeInboundOptions, NodeInboundRequest } from '../node-inbound.ts';
import { timedOut } from '../request-timed-out.ts';
import { type AnsweredExchange, PlainAnswer } from './plain-answer.ts';
import type { PlainRequest } from './plain-request.ts';

/** The connection that a plain request came on. */
export interface PlainRequestConnection {
  readonly socket: TLSSocket;
  /** Seconds for which it is kept idle. */
  readonly keepAliveSeconds: number;
  /** Whether it takes no further request. */
  readonly isEnding: boolean;
  /** The answer has been handed to the system. @param isLast the client was told that the connection ends */
  answered(isLast: boolean): void;
}

/** A plain request with the answer to it: the connection's only one at its time. */
export class PlainInbound extends NodeInboundRequest implements AnsweredExchange {
  protected readonly carrier: PlainRequestConnection;
  readonly #body: Uint8Array | undefined;
  #endsConnection: boolean;
  #wasLast = false;
  #hasAnswer = false;
  #isAnswered = false;
  #isClosed = false;
  #onClose: (() => void) | undefined;

  constructor(request: PlainRequest, connection: PlainRequestConnection, options: NodeInboundOptions) {
    super(request.method, request.target, request.headers, '1.1', options);
    this.carrier = connection;
    this.#body = request.body;
    this.#endsConnection = request.isLast;
  }

  get hasBody(): boolean {
    return this.#body !== undefined;
  }

  protected get bodyStream(): Readable {
    return bodyOf(this.#body as Uint8Array);
  }

  /** It came whole. */
  protected get isBodyCutShort(): boolean {
    return false;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  answerSink(): AnswerSink {
    return new PlainAnswer(this.carrier.socket, this);
  }

  /** Whether no answer has begun, and there is somebody to read one. */
  get awaitsAnswer(): boolean {
    return !this.#hasAnswer && !this.#isClosed;
  }

  /** Writes an answer of the router's own, if one is awaited. */
  async answerWith(response: Response): Promise<void> {
    const body = new Uint8Array(await response.arrayBuffer());
    // Meanwhile its time may have been over.
    if (!this.awaitsAnswer) return;
    // The router calls a request bad that could be read in two ways: what stands behind it may be part of it (RFC 9112
    // section 11.2).
    this.#endsConnection ||= response.status === 400;
    this.#answerWhole(response.status, rawHeadersOf(response.headers), body);
  }

  /** @param lines without a length */
  #answerWhole(status: number, lines: RawHeaders, body: Uint8Array): void {
    const answer = new PlainAnswer(this.carrier.socket, this);
    // Of an answer to HEAD the body has been left out already, and with it its length (RFC 9110 section 8.6).
    const framing = this.method === 'HEAD' ? [] : ['Content-Length', String(body.length)];
    answer.start(status, STATUS_CODES[status] ?? '', [...lines, ...framing]);
    answer.write(body);
    answer.end();
  }

  get keepAliveSeconds(): number {
    return this.carrier.keepAliveSeconds;
  }

  get isLast(): boolean {
    return this.#endsConnection || this.carrier.isEnding;
  }

  begun(isLast: boolean): void {
    this.#hasAnswer = true;
    this.#wasLast = isLast;
  }

  answered(): void {
    this.#isAnswered = true;
    this.close();
    this.carrier.answered(this.#wasLast);
  }

  /** The exchange is over, well or not. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#onClose?.();
  }

  protected get remoteAddress(): string | undefined {
    return this.carrier.socket.remoteAddress;
  }

  protected get isAnswered(): boolean {
    return this.#isAnswered;
  }

  protected onClose(listener: () => void): void {
    this.#onClose = listener;
  }

  protected endTimedOut(more: Readonly<Record<string, string>>): boolean {
    if (this.#hasAnswer) {
      this.carrier.socket.destroy();
      return false;
    }
    const { code, headers, body } = timedOut();
    this.#answerWhole(code, Object.entries({ ...headers, ...more }).flat(), Buffer.from(body));
    return true;
  }
}

/** As a stream, for a destination that is not given it in one piece. */
function bodyOf(bytes: Uint8Array): Readable {
  const stream = new Readable({ read() {} });
  stream.push(bytes);
  stream.push(null);
  return stream;
}
