import type { Dispatcher } from 'undici';
import { requestLines } from '../http2/fields/connection-headers.ts';
import type { OutboundRequest } from '../proxy/transport.ts';
import { maximumAnswerHeaderBytes, maximumAnswerLines } from './answer-limits.ts';
import type { Exchange } from './exchange.ts';
import { invalidResponse, refuseOtherCodings } from './http1-response-head.ts';
import { contentCame } from './limited-answers.ts';
import type { RequestBody } from './request-body.ts';

/** The methods whose content has a meaning to every server (RFC 9110 section 9.3). */
const methodsWithContent: ReadonlySet<string> = new Set(['PATCH', 'POST', 'PUT']);

/**
 * Sends one request over HTTP/1.1: undici's dispatch, its events handed straight to the exchange.
 *
 * A body on a method that is not expected to have one passes, with its framing: what is behind the API server
 * may want it (searches by GET through the subresource `proxy`, DeleteOptions). But a server that does not expect
 * one takes it for the next request on the connection, under whatever identity is written there
 * (GHSA-ggv3-7p47-pfv8). So such a request says `Connection: close`, behind which nothing is a request (RFC 9112
 * section 9.6), and its connection ends with it. HTTP/2 frames leave no such doubt.
 */
export function exchangeOverHttp1(
  dispatcher: Dispatcher,
  outbound: OutboundRequest,
  body: RequestBody | undefined,
  exchange: Exchange,
): void {
  const options: Dispatcher.DispatchOptions = {
    path: outbound.target,
    method: outbound.method,
    headers: requestLines(outbound.headers),
    body: body?.content ?? null,
    ...(body === undefined || methodsWithContent.has(outbound.method) ? {} : { reset: true }),
  };
  dispatcher.dispatch(options, new Http1Handler(exchange));
}

class Http1Handler implements Dispatcher.DispatchHandler {
  readonly #exchange: Exchange;
  /** All of them, interim ones included. */
  readonly #heads = new LineCount();
  #isWhole = false;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Thrown here, before a byte is written, undici drops the request and keeps the connection.
    if (this.#exchange.isOver) throw new Error('nobody waits for the answer any more');
    this.#exchange.started({
      pause: () => controller.pause(),
      resume: () => controller.resume(),
      abort: () => controller.abort(new Error('the exchange was given up')),
    });
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    _headers: unknown,
    statusMessage?: string,
  ): void {
    this.#heads.add(controller.rawHeaders);
    // Thrown here, undici fails the request with it and closes the connection.
    if (this.#heads.areTooLarge) throw invalidResponse('its head is too large');
    // 1xx: the final head is still to come (RFC 9110 section 15.2).
    if (status < 200) return;
    contentCame();
    const headers = rawLines(controller.rawHeaders);
    refuseOtherCodings(headers);
    this.#exchange.head(status, statusMessage ?? '', headers);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    contentCame();
    this.#exchange.data(chunk);
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    contentCame();
    this.#isWhole = true;
    const trailers = new LineCount();
    trailers.add(controller.rawTrailers);
    if (trailers.areTooLarge) throw invalidResponse('its trailers are too large');
    // They are dropped: Kubernetes sends none, and HTTP/1.1 clients have to ask for them.
    this.#exchange.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#exchange.fail(error);
    // To undici the answer is whole, and its connection good for another: what its parser is thrown ends that.
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

  add(lines: Dispatcher.DispatchController['rawHeaders']): void {
    this.#lines++;
    if (!Array.isArray(lines)) return;
    this.#lines += lines.length / 2;
    for (const part of lines) this.#bytes += part.length;
  }
}

/** undici keeps the lines as bytes; header values are byte strings here. */
function rawLines(lines: Dispatcher.DispatchController['rawHeaders']): string[] {
  const text: string[] = [];
  if (!Array.isArray(lines)) return text;
  for (const line of lines) text.push(typeof line === 'string' ? line : line.toString('latin1'));
  return text;
}
