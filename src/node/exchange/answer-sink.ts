import type { RawHeaders } from '../../apimachinery/raw-headers.ts';
import type { InboundRequest } from '../../request/inbound.ts';
import { NodeInboundRequest } from './node-inbound.ts';
import { WebAnswer } from './web-answer.ts';

/** Where the answer to one request goes. */
export interface AnswerSink {
  /** Tells when the client can take more, and when it has gone. Undone by `release`. */
  attach(onDrain: () => void, onGone: () => void): void;
  /** Stops watching the client; nothing was written yet and somebody else answers. */
  release(): void;
  /** @throws when the head cannot be written; nothing was written then. */
  start(status: number, statusMessage: string, headers: RawHeaders): Response;
  /** @returns false when the client is slower: hold until `onDrain`. */
  write(chunk: Uint8Array): boolean;
  /** As `write`, for bytes that are overwritten as soon as it returns. Default: they are copied for `write`. */
  lend?(chunk: Uint8Array): boolean;
  end(): void;
  /** The answer broke off: the client must not take what it has for the whole. */
  breakOff(error: Error): void;
}

/** On the server the answer goes straight into the connection it belongs to; else into a web `Response`. */
export function answerSinkFor(inbound: InboundRequest): AnswerSink {
  return inbound instanceof NodeInboundRequest ? inbound.answerSink() : new WebAnswer(inbound);
}
