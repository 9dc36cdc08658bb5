import type { IncomingHttpHeaders } from 'node:http';
import { stringify } from 'node:querystring';
import { Readable } from 'node:stream';
import { type Dispatcher, errors } from 'undici';
import type { HeaderLines } from '../fields/header-fields.ts';
import type { ClientRequest, ResponseSource, StreamListener } from './client-stream.ts';

/** The owner of a request: is told in order, by the same calls whatever connection the request is sent on. */
export interface RequestListener extends StreamListener {
  /** The server speaks HTTP/1.1 only: its dispatcher sends the request. */
  passOnTo(dispatcher: Dispatcher, request: ClientRequest): void;
}

/** The server has not processed the request: it can be sent again (RFC 9113 section 8.7). */
class UnprocessedRequestError extends Error {
  override readonly name = 'UnprocessedRequestError';
  readonly code = 'ERR_HTTP2_REQUEST_UNPROCESSED';

  constructor(cause: Error) {
    super(cause.message, { cause });
  }
}

/** The controller of a request that cannot be sent at all. */
export const notBegun: Dispatcher.DispatchController = {
  ...{ aborted: true, reason: null, paused: false, rawHeaders: null, rawTrailers: null },
  ...{ abort() {}, pause() {}, resume() {} },
};

/** A request of undici's own interface: its handler is told in undici's events. */
export class DispatchedRequest implements ClientRequest, RequestListener, Dispatcher.DispatchController {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderLines;
  readonly content: Uint8Array | Readable | undefined;
  rawHeaders: string[] | null = null;
  rawTrailers: string[] | null = null;
  readonly #handler: Dispatcher.DispatchHandler;
  #options: Dispatcher.DispatchOptions | undefined;
  #source: ResponseSource | undefined;
  #reason: Error | undefined;
  paused = false;

  constructor(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) {
    this.#options = options;
    this.#handler = handler;
    this.method = options.method;
    this.target = targetOf(options);
    this.headers = headerLinesOf(options.headers);
    this.content = contentOf(options.body);
  }

  get aborted(): boolean {
    return this.#reason !== undefined;
  }

  get reason(): Error | null {
    return this.#reason ?? null;
  }

  pause(): void {
    this.paused = true;
    this.#source?.pause();
  }

  resume(): void {
    this.paused = false;
    this.#source?.resume();
  }

  abort(reason: Error = new Error('the request was aborted')): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#source?.abort(reason);
  }

  begun(source: ResponseSource): void {
    if (!this.aborted) this.#handler.onRequestStart?.(this, {});
    if (this.#reason !== undefined) throw this.#reason;
    this.#source = source;
    if (this.paused) source.pause();
  }

  passOnTo(dispatcher: Dispatcher, { content }: ClientRequest): void {
    const options = this.#options as Dispatcher.DispatchOptions;
    // HTTP/2 has no such body.
    const isForm = Object.prototype.toString.call(options.body) === '[object FormData]';
    const body = (isForm ? options.body : content) ?? null;
    dispatcher.dispatch({ ...options, body }, this.#handler);
  }

  head(status: number, lines: string[]): void {
    this.#options = undefined;
    this.rawHeaders = lines;
    this.#handler.onResponseStart?.(this, status, headersOf(lines), '');
  }

  data(piece: Uint8Array): void {
    this.#handler.onResponseData?.(this, Buffer.from(piece));
  }

  end(): void {
    this.#handler.onResponseEnd?.(this, {});
  }

  fail(error: Error, isUnprocessed: boolean): void {
    // A request that was never begun need not be told apart.
    const isRefused = isUnprocessed && this.#source !== undefined && !this.aborted;
    this.#handler.onResponseError?.(this, isRefused ? new UnprocessedRequestError(error) : error);
  }
}

function headersOf(lines: readonly string[]): IncomingHttpHeaders {
  const headers: IncomingHttpHeaders = Object.create(null);
  for (let index = 0; index + 1 < lines.length; index += 2) {
    const name = lines[index] as string;
    const value = lines[index + 1] as string;
    const before = headers[name];
    if (name === 'set-cookie') headers[name] = [...(headers[name] ?? []), value];
    else headers[name] = before === undefined ? value : `${String(before)}, ${value}`;
  }
  return headers;
}

function targetOf({ path, query }: Dispatcher.DispatchOptions): string {
  if (query === undefined || query === null) return path;
  if (/[?#]/.test(path)) throw new errors.InvalidArgumentError('the path has a query already');
  const text = stringify(query);
  return text === '' ? path : `${path}?${text}`;
}

function headerLinesOf(headers: Dispatcher.DispatchOptions['headers']): HeaderLines {
  if (headers === undefined || headers === null) return [];
  if (Array.isArray(headers) && headers.every((line) => typeof line === 'string')) return headers;
  const lines: string[] = [];
  const entries = Symbol.iterator in headers ? headers : Object.entries(headers);
  for (const entry of entries) {
    if (typeof entry === 'string') throw new errors.InvalidArgumentError('headers must be pairs');
    const [name, value] = entry;
    if (value === undefined || value === null) continue;
    for (const each of Array.isArray(value) ? value : [value]) lines.push(name, String(each));
  }
  return lines;
}

function contentOf(body: unknown): Uint8Array | Readable | undefined {
  if (body === undefined || body === null) return undefined;
  if (body instanceof Uint8Array || body instanceof Readable) return body;
  if (typeof body === 'string') return Buffer.from(body);
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  if (body instanceof ReadableStream) return Readable.fromWeb(body);
  if (isIterable(body)) return Readable.from(body, { objectMode: false });
  throw new errors.InvalidArgumentError('body must be bytes, a string, a stream or an iterable of pieces');
}

function isIterable(body: unknown): body is AsyncIterable<Uint8Array> | Iterable<Uint8Array> {
  return (
    typeof body === 'object' && body !== null && (Symbol.asyncIterator in body || Symbol.iterator in body)
  );
}
