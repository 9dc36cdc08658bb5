import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { LineHandler } from '../../http2/client/dispatched-request.ts';
import type { HeldBytes } from '../../http2/sockets/held-bytes.ts';
import type { Exchange } from './exchange.ts';
import { invalidResponse, LineCount, refuseOtherCodings, responseProgressed } from './limited-responses.ts';

/**
 * Passes the events of a dispatcher to an exchange: those of our HTTP/2 client without a copy, those of undici's pool and
 * other dispatchers as undici defines them.
 */
export class ExchangeHandler implements LineHandler {
  readonly #exchange: Exchange;
  /** Counts all heads, interim ones included. */
  #heads: LineCount | undefined;
  #isWhole = false;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
  }

  get held(): HeldBytes | undefined {
    return this.#exchange.held;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // An error here drops the request before a byte is written, and keeps the connection.
    if (this.#exchange.isOver) throw new Error('the request was cancelled');
    this.#exchange.started(controller);
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
    statusMessage?: string,
  ): void {
    this.#heads ??= new LineCount();
    const lines = rawLines(controller.rawHeaders ?? headers);
    this.#heads.add(lines);
    // With an error here undici fails the request and closes the connection.
    if (this.#heads.areTooLarge) throw invalidResponse('its head is too large');
    // 1xx: the final head follows (RFC 9110 section 15.2).
    if (status < 200) return;
    responseProgressed();
    refuseOtherCodings(lines);
    this.#exchange.head(status, statusMessage ?? '', lines);
  }

  onResponseLines(status: number, lines: string[]): void {
    this.#exchange.head(status, '', lines);
  }

  onResponsePiece(piece: Uint8Array): void {
    this.#exchange.lend(piece);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    responseProgressed();
    this.#exchange.data(chunk);
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    responseProgressed();
    this.#isWhole = true;
    const trailers = new LineCount();
    trailers.add(rawLines(controller.rawTrailers));
    if (trailers.areTooLarge) throw invalidResponse('its trailers are too large');
    // Trailers are dropped: Kubernetes sends none, and HTTP/1.1 clients would have to ask for them.
    this.#exchange.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#exchange.fail(error);
    // undici's pool would reuse the connection of a complete response: an error in its parser closes it.
    if (this.#isWhole) throw error;
  }
}

/** Header lines as byte strings. undici's pool has them as bytes; other dispatchers may only have an object. */
function rawLines(given: Dispatcher.DispatchController['rawHeaders']): string[] {
  const lines: string[] = [];
  if (Array.isArray(given)) {
    for (const part of given) lines.push(typeof part === 'string' ? part : part.toString('latin1'));
    return lines;
  }
  for (const [name, value] of Object.entries(given ?? {})) {
    for (const each of Array.isArray(value) ? value : [value]) if (each !== undefined) lines.push(name, each);
  }
  return lines;
}
