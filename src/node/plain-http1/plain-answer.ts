import type { Socket } from 'node:net';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { RawHeaders } from '../../apimachinery/raw-headers.ts';
import { answerLines, hasContent } from '../answer-lines.ts';
import type { AnswerSink } from '../answer-sink.ts';
import { ClientSide } from '../client-side.ts';
import { contentLength } from '../content-length.ts';
import { flushUnlessFollowed, type HeldHead } from '../held-head.ts';
import { FramedBody } from './framed-body.ts';
import { plainAnswerHead } from './plain-answer-head.ts';

/** The exchange that an answer belongs to. */
export interface AnsweredExchange {
  readonly method: string;
  readonly keepAliveSeconds: number;
  /** Asked when the head is made: whether it is the last one of its connection. */
  readonly isLast: boolean;
  /** The answer has begun: no other one can be given. @param isLast what the client is told */
  begun(isLast: boolean): void;
  /** The answer was handed to the system to its end. */
  answered(): void;
  onFinished(listener: () => void): void;
}

/** An answer on its way into the connection of a plain request. */
export class PlainAnswer implements AnswerSink, HeldHead {
  readonly #socket: Socket;
  readonly #exchange: AnsweredExchange;
  readonly #body: FramedBody;
  readonly #client: ClientSide;
  #hasContent = true;
  /** Whether the head names the length of a body that is to come. */
  #announcesBody = false;

  constructor(socket: Socket, exchange: AnsweredExchange) {
    this.#socket = socket;
    this.#exchange = exchange;
    this.#body = new FramedBody(socket, () => exchange.answered());
    this.#client = new ClientSide(this.#body, exchange);
  }

  attach(onDrain: () => void, onGone: () => void): void {
    this.#client.attach(onDrain, onGone);
  }

  release(): void {
    this.#client.release();
  }

  start(status: number, statusMessage: string, headers: RawHeaders): Response {
    const { method, isLast, keepAliveSeconds } = this.#exchange;
    const length = contentLength(headers);
    this.#hasContent = method !== 'HEAD' && hasContent(status);
    // Clients look for the end of a 205 as of any other answer (RFC 9110 section 15.3.6), although it has no content.
    const isChunked = method !== 'HEAD' && (status === 205 || (this.#hasContent && length === undefined));
    const lines = answerLines(status, headers);
    const head = plainAnswerHead({
      status,
      statusMessage,
      headers: lines,
      isChunked,
      isLast,
      keepAliveSeconds,
    });
    this.#exchange.begun(isLast);
    this.#body.begin(head, isChunked ? 'chunked' : this.#hasContent ? (length ?? 0) : 0);
    this.#announcesBody = this.#hasContent && length !== undefined;
    this.#client.announce(length);
    flushUnlessFollowed(this);
    return RESPONSE_ALREADY_SENT;
  }

  get isHeld(): boolean {
    return this.#body.isHeld;
  }

  get announcesBody(): boolean {
    return this.#announcesBody;
  }

  flush(): void {
    this.#body.flush();
  }

  write(chunk: Uint8Array): boolean {
    return !this.#hasContent || this.#client.write(chunk);
  }

  lend(chunk: Uint8Array): boolean {
    return !this.#hasContent || this.#client.lend(chunk);
  }

  end(): void {
    this.#client.end();
  }

  breakOff(): void {
    this.#socket.destroy();
  }
}
