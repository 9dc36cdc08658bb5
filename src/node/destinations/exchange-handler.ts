import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { RawHeaders } from '../../apimachinery/raw-headers.ts';
import type { LineHandler } from '../../http2/client/dispatched-request.ts';
import { maximumAnswerHeaderBytes, maximumAnswerLines } from './answer-limits.ts';
import type { Exchange } from './exchange.ts';
import { invalidResponse, refuseOtherCodings } from './invalid-response.ts';
import { contentCame } from './limited-answers.ts';

/**
 * Hands what a dispatcher tells of a request to its exchange: ours for HTTP/2 without a copy, undici's pool and any other
 * in undici's own events.
 */
export class ExchangeHandler implements LineHandler {
  readonly #exchange: Exchange;
  /** All of them, interim ones included. */
  #heads: LineCount | undefined;
  #isWhole = false;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Thrown here, before a byte is written, the request is dropped and the connection kept.
    if (this.#exchange.isOver) throw new Error('nobody waits for the answer any more');
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
    // Thrown here, undici fails the request with it and closes the connection.
    if (this.#heads.areTooLarge) throw invalidResponse('its head is too large');
    // 1xx: the final head is still to come (RFC 9110 section 15.2).
    if (status < 200) return;
    contentCame();
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
    contentCame();
    this.#exchange.data(chunk);
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    contentCame();
    this.#isWhole = true;
    const trailers = new LineCount();
    trailers.add(rawLines(controller.rawTrailers));
    if (trailers.areTooLarge) throw invalidResponse('its trailers are too large');
    // They are dropped: Kubernetes sends none, and HTTP/1.1 clients have to ask for them.
    this.#exchange.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#exchange.fail(error);
    // To undici's pool the answer is whole, and its connection good for another: what its parser is thrown ends that.
    if (this.#isWhole) throw error;
  }
}

/** Of heads, each with its status line, or of trailers. */
class LineCount {
  #lines = 0;
  #bytes = 0;

  get areTooLarge(): boolean {
    return this.#lines > maximumAnswerLines || this.#bytes > maximumAnswerHeaderBytes;
  }

  add(lines: RawHeaders): void {
    this.#lines += 1 + lines.length / 2;
    for (const part of lines) this.#bytes += part.length;
  }
}

/** undici's pool keeps the lines as bytes, and header values are byte strings here; others may have an object only. */
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
