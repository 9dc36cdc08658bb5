import type { IncomingHttpHeaders } from 'node:http';
import { stringify } from 'node:querystring';
import { Readable } from 'node:stream';
import { type Dispatcher, errors } from 'undici';
import type { HeaderLines } from '../fields/header-fields.ts';
import { errorCode, Http2Error } from '../frames/frame.ts';
import { headSize } from '../frames/message-heads.ts';
import type { HeldBytes } from '../sockets/held-bytes.ts';
import type { ClientSession } from './client-session.ts';
import type { ClientStream, StreamListener } from './client-stream.ts';

/** The server has not processed the request: it can be sent again (RFC 9113 section 8.7). */
export class UnprocessedRequestError extends Error {
  override readonly name = 'UnprocessedRequestError';
  readonly code = 'ERR_HTTP2_REQUEST_UNPROCESSED';

  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

export class RequestHeadTooLargeError extends Error {
  override readonly name = 'RequestHeadTooLargeError';
  readonly code = 'ERR_HTTP2_REQUEST_HEAD_TOO_LARGE';

  constructor(size: number, maximum: number) {
    super(`a request head of ${size} bytes exceeds the ${maximum} bytes that this server accepts`);
  }
}

export { Http2Error };

/**
 * A handler for which no headers object is made and no bytes are copied. An interceptor that wraps it makes it an
 * ordinary handler, which gets undici's own events.
 */
export interface LineHandler extends Dispatcher.DispatchHandler {
  onResponseLines(status: number, lines: string[]): void;
  /** In place of `onResponseData`. @param piece overwritten as soon as this returns */
  onResponsePiece(piece: Uint8Array): void;
  readonly held?: HeldBytes | undefined;
}

const noLines: HeaderLines = [];

/**
 * How often a request is sent again that the server did not process: because it was ending the connection in good order,
 * as Go's client (golang.org/x/net/http2, transport.go) and at once, each time on another connection; for another reason.
 */
const maximumRepeats = { goAway: 6, otherwise: 1 };

export class DispatchedRequest implements StreamListener, Dispatcher.DispatchController {
  readonly size: number;
  rawHeaders: string[] | null = null;
  rawTrailers: string[] | null = null;
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #lineHandler: LineHandler | undefined;
  /** Dropped with the head: their memory must not be kept for as long as the response lasts. */
  #options: Dispatcher.DispatchOptions | undefined;
  #headers: HeaderLines;
  readonly #retry: (request: DispatchedRequest) => void;
  #body: Uint8Array | Readable | undefined;
  #stream: ClientStream | undefined;
  #isPaused = false;
  #reason: Error | undefined;
  #repeats = 0;
  #hasHead = false;
  #isOver = false;

  constructor(
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
    authority: string,
    retry: (request: DispatchedRequest) => void,
  ) {
    this.#options = options;
    this.#handler = handler;
    this.#lineHandler = isLineHandler(handler) ? handler : undefined;
    this.#headers = headerLinesOf(options.headers);
    this.#body = contentOf(options.body);
    this.#retry = retry;
    this.size = headSize(options.method, targetOf(options), authority, this.#headers);
  }

  get held(): HeldBytes | undefined {
    return this.#lineHandler?.held;
  }

  get aborted(): boolean {
    return this.#reason !== undefined;
  }

  get reason(): Error | null {
    return this.#reason ?? null;
  }

  get paused(): boolean {
    return this.#isPaused;
  }

  pause(): void {
    this.#isPaused = true;
    this.#stream?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#stream?.resume();
  }

  abort(reason: Error = new Error('the request was aborted')): void {
    if (this.#isOver || this.#reason !== undefined) return;
    this.#reason = reason;
    this.#stream?.reset(errorCode.cancel, reason);
  }

  sendOn(connection: ClientSession): void {
    if (!this.#isBegun()) return;
    const options = this.#options as Dispatcher.DispatchOptions;
    // Since it was dispatched more of the body may have arrived.
    this.#body = takeWhole(this.#body) ?? this.#body;
    try {
      const { method } = options;
      const request = { method, target: targetOf(options), headers: this.#headers, content: this.#body };
      this.#stream = connection.request(request, this);
    } catch (error) {
      this.notSent(error);
      return;
    }
    if (this.#isPaused) this.#stream.pause();
  }

  passOnTo(dispatcher: Dispatcher): void {
    const options = this.#options as Dispatcher.DispatchOptions;
    const body = this.#repeats > 0 ? (this.#body ?? null) : options.body;
    dispatcher.dispatch(body === options.body ? options : { ...options, body: body ?? null }, this.#handler);
  }

  notSent(error: unknown): void {
    this.#fail(this.#repeats > 0 ? new UnprocessedRequestError(error) : asError(error));
  }

  head(status: number, lines: string[]): void {
    this.#hasHead = true;
    this.#options = undefined;
    this.#headers = noLines;
    if (this.#body instanceof Uint8Array) this.#body = undefined;
    try {
      if (this.#lineHandler !== undefined) {
        this.#lineHandler.onResponseLines(status, lines);
        return;
      }
      this.rawHeaders = lines;
      this.#handler.onResponseStart?.(this, status, headersOf(lines), '');
    } catch (error) {
      // As in undici, an error of a handler ends its own request, never the connection.
      this.abort(asError(error));
    }
  }

  data(piece: Uint8Array): void {
    try {
      if (this.#lineHandler !== undefined) this.#lineHandler.onResponsePiece(piece);
      else this.#handler.onResponseData?.(this, Buffer.from(piece));
    } catch (error) {
      this.abort(asError(error));
    }
  }

  end(): void {
    this.#isOver = true;
    this.#dropBody();
    try {
      this.#handler.onResponseEnd?.(this, {});
    } catch (error) {
      this.#handler.onResponseError?.(this, asError(error));
    }
  }

  fail(error: Error, refused: boolean): void {
    // After a head it was processed, whatever the server says.
    const isUnprocessed = refused && !this.#hasHead;
    const isGoAway = error instanceof Http2Error && error.errorCode === errorCode.noError;
    const maximum = isGoAway ? maximumRepeats.goAway : maximumRepeats.otherwise;
    if (isUnprocessed && !this.aborted && this.#repeats < maximum && this.#rewindBody()) {
      this.#repeats++;
      this.#stream = undefined;
      this.#retry(this);
      return;
    }
    this.#fail(isUnprocessed ? new UnprocessedRequestError(error) : error);
  }

  #rewindBody(): boolean {
    const body = this.#body;
    if (body === undefined || body instanceof Uint8Array) return true;
    const again = isRequestBody(body) ? body.again() : undefined;
    if (again === undefined) return false;
    this.#body = again;
    body.destroy();
    return true;
  }

  #isBegun(): boolean {
    try {
      if (!this.aborted) this.#handler.onRequestStart?.(this, {});
    } catch (error) {
      this.#reason = asError(error);
    }
    if (this.#reason === undefined) return true;
    this.#fail(this.#reason);
    return false;
  }

  #fail(error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#dropBody();
    this.#handler.onResponseError?.(this, error);
  }

  #dropBody(): void {
    const body = this.#body;
    this.#body = undefined;
    if (body instanceof Readable) body.destroy();
  }
}

function isLineHandler(handler: Dispatcher.DispatchHandler): handler is LineHandler {
  return 'onResponseLines' in handler && 'onResponsePiece' in handler;
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

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

export interface RequestBody {
  /**
   * The body, if it is complete already: it is sent in one piece with the head. Once taken, it cannot be read from the
   * stream any more.
   * @returns `undefined` if the stream must be read instead
   */
  takeWhole(): Uint8Array | undefined;
  /**
   * The same body from its first byte on, for a request that the server did not process. Nothing more is read of this one.
   * @returns `undefined` if the bytes were not kept
   */
  again(): Readable | undefined;
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

function takeWhole(body: Uint8Array | Readable | undefined): Uint8Array | undefined {
  if (body === undefined || body instanceof Uint8Array) return body;
  return isRequestBody(body) ? body.takeWhole() : undefined;
}

function isRequestBody(body: object): body is RequestBody {
  return 'takeWhole' in body && 'again' in body;
}
