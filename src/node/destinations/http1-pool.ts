import type { TLSSocket } from 'node:tls';
import { Client, type Dispatcher, Pool } from 'undici';
import type { RequestListener } from '../../../packages/http2/index.ts';
import {
  DispatchedRequest,
  type HeldBytes,
  type ResponseSource,
  requestLines,
} from '../../../packages/http2/shared.ts';
import { allHeaders, type RawHeaders } from '../../apimachinery/raw-headers.ts';
import { TransportError } from '../../request/destination.ts';
import { connectionsWithin, usableMemory } from '../exchange/serving-limits.ts';

/**
 * Limits for the heads and trailers of a server's response, the same for HTTP/1.1 and HTTP/2. The head and all interim
 * heads (1xx) count together; trailers, which are dropped, count separately. Beyond a limit the client gets a 502, or a
 * response that breaks off after its head.
 */

export const maximumResponseLines = 4_096;

/**
 * Bytes. kube-apiserver's own heads have less than 5 KiB, warnings included; the subresource `proxy` leads to other
 * servers. undici and Node allow 16 KiB, Envoy 60 KiB, Go 10 MiB. With 1 MiB of trailers of one byte each, 20 responses
 * blocked the event loop for five seconds.
 */
export const maximumResponseHeaderBytes = 64 * 1_024;

export class LineCount {
  #lines = 0;
  #bytes = 0;

  get areTooLarge(): boolean {
    return this.#lines > maximumResponseLines || this.#bytes > maximumResponseHeaderBytes;
  }

  add(lines: RawHeaders): void {
    this.#lines += 1 + lines.length / 2;
    for (const part of lines) this.#bytes += part.length;
  }
}

/** The least bytes that a piece counts as: undici copies an incomplete line with each piece that extends it. */
const leastPiece = 256;

interface Reading {
  /** Bytes since the final head or the last content. */
  withoutContent: number;
}

/** The connection that was read last: undici parses a piece and emits its events before it reads another. */
let lastRead: Reading | undefined;

/**
 * Closes a connection of undici's pool if a response has too much before its head or after its content. undici's own
 * limit (client-h1.js, `trackHeader`) does not stop its parser: each further line of the piece costs a new error with its
 * stack, a third of a second for 128 KiB of short lines. So pieces are counted before undici gets them.
 * `responseProgressed` must be called for each final head, content and end.
 */
function limitResponses(socket: TLSSocket): TLSSocket {
  const reading: Reading = { withoutContent: 0 };
  const read = socket.read.bind(socket);
  socket.read = (size) => {
    lastRead = reading;
    if (reading.withoutContent > maximumResponseHeaderBytes) {
      socket.destroy(invalidResponse('its head or its trailers are too long'));
      return null;
    }
    const piece: Buffer | null = read(size);
    if (piece !== null) reading.withoutContent += Math.max(piece.length, leastPiece);
    return piece;
  };
  return socket;
}

function responseProgressed(): void {
  if (lastRead !== undefined) lastRead.withoutContent = 0;
}

/**
 * Refuses transfer codings other than `chunked`. A parser decodes the chunks only, and the header is dropped: the content
 * would be forwarded still encoded (RFC 9112 section 6.1).
 * @throws {TransportError} `InvalidResponse`
 */
export function refuseOtherCodings(headers: RawHeaders): void {
  const codings = allHeaders(headers, 'transfer-encoding');
  if (codings.length > 1 || (codings[0] ?? 'chunked').trim().toLowerCase() !== 'chunked') {
    throw invalidResponse('it has a Transfer-Encoding other than chunked');
  }
}

export function invalidResponse(reason: string): TransportError {
  return new TransportError('InvalidResponse', `the response is not valid HTTP/1.1: ${reason}`, {
    mayHaveBeenProcessed: true,
  });
}

/**
 * Bytes that Node and TLS hold of a response over HTTP/1.1 that its client does not take, besides what they hold of each
 * connection. Measured.
 */
const heldByPaused = 128 * 1024;

interface Http1Listener extends Omit<RequestListener, 'passOnTo'> {
  head(status: number, lines: string[], reason?: string): void;
}

/** One response as undici tells it, with the limits that its parser lacks: told as one over HTTP/2 is. */
export class Http1Response implements Dispatcher.DispatchHandler, ResponseSource {
  readonly #listener: Http1Listener;
  readonly #heads = new LineCount();
  #controller: Dispatcher.DispatchController | undefined;
  #isWhole = false;
  #heldByPaused = 0;

  constructor(listener: Http1Listener) {
    this.#listener = listener;
  }

  get held(): HeldBytes | undefined {
    return this.#listener.held;
  }

  pause(): void {
    this.#controller?.pause();
    this.#countPaused(heldByPaused);
  }

  resume(): void {
    this.#countPaused(0);
    this.#controller?.resume();
  }

  abort(reason: Error): void {
    this.#countPaused(0);
    this.#controller?.abort(reason);
  }

  #countPaused(bytes: number): void {
    this.held?.add(bytes - this.#heldByPaused);
    this.#heldByPaused = bytes;
  }

  /** An error here drops the request before a byte is written, and keeps the connection. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#listener.begun(this);
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    _headers: unknown,
    statusMessage = '',
  ): void {
    const lines = rawLines(controller.rawHeaders);
    this.#heads.add(lines);
    // With an error here undici fails the request and closes the connection.
    if (this.#heads.areTooLarge) throw invalidResponse('its head is too large');
    // 1xx: the final head follows (RFC 9110 section 15.2).
    if (status < 200) return;
    responseProgressed();
    refuseOtherCodings(lines);
    this.#listener.head(status, lines, statusMessage);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    responseProgressed();
    // undici's parser reports an empty chunk each time it is resumed with nothing to parse. Pausing for it, and being
    // resumed by its reader, would loop for ever.
    if (chunk.byteLength > 0) this.#listener.data(chunk);
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    responseProgressed();
    this.#isWhole = true;
    // Trailers are dropped: Kubernetes sends none, and HTTP/1.1 clients would have to ask for them.
    const trailers = new LineCount();
    trailers.add(rawLines(controller.rawTrailers));
    if (trailers.areTooLarge) throw invalidResponse('its trailers are too large');
    this.#countPaused(0);
    this.#listener.end();
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.#countPaused(0);
    this.#listener.fail(error, false);
    // undici's pool would reuse the connection of a complete response: an error in its parser closes it.
    if (this.#isWhole) throw error;
  }
}

/** Header lines as byte strings: undici's pool has a list of bytes. */
function rawLines(given: Dispatcher.DispatchController['rawHeaders']): string[] {
  return (Array.isArray(given) ? given : []).map((part) =>
    typeof part === 'string' ? part : part.toString('latin1'),
  );
}

export interface Http1PoolOptions {
  readonly origin: string;
  readonly connect: () => Promise<TLSSocket>;
  /**
   * Connections over HTTP/1.1 of all pools that count together, beyond which a client's request that finds none idle is
   * refused. Default: as many as there is memory for.
   */
  readonly http1Connections?: number;
  /** The connections in use of all pools that count together. */
  readonly http1InUse: Http1ConnectionCount;
}

export interface Http1ConnectionCount {
  open: number;
}

const tooManyConnections = 'more connections than there is memory for';

/** Methods whose content every server expects (RFC 9110 section 9.3). */
const methodsWithContent: ReadonlySet<string> = new Set(['PATCH', 'POST', 'PUT']);

/**
 * Concurrent handshakes. undici's pool begins one for each request that finds no idle connection, and aborts it when the
 * request is cancelled: a client that resets requests as fast as it can (CVE-2023-44487) would cause thousands.
 */
const maximumHandshakes = 16;

/**
 * undici's pool, without the connection-specific lines of a request, on which undici throws.
 *
 * A body is forwarded for methods that usually have none, too: servers behind the API server may need it (searches by GET
 * through the subresource `proxy`, DeleteOptions). But a server that does not expect a body may read it as the next
 * request, with any identity in it (GHSA-ggv3-7p47-pfv8). So such a request has `Connection: close`, after which nothing
 * is a request (RFC 9112 section 9.6). HTTP/2 framing has no such ambiguity.
 */
export class Http1Pool extends Pool {
  #handshakes = 0;
  readonly #waiting: { readonly begin: () => void; readonly fail: (error: Error) => void }[] = [];
  readonly #inUse: Http1ConnectionCount;
  readonly #maximumConnections: number;

  constructor(options: Http1PoolOptions) {
    const { origin, connect, http1InUse, http1Connections = connectionsWithin(usableMemory) } = options;
    super(origin, {
      // A watch occupies one.
      connections: 4_096,
      // One request at a time on a connection: with pipelining a watch would block all that follow.
      pipelining: 1,
      allowH2: false,
      // undici's 300 s would end a quiet watch; the exchange has its own timer up to the head.
      bodyTimeout: 0,
      headersTimeout: 0,
      // Less than servers keep it, so that they do not close first.
      keepAliveTimeout: 30_000,
      maxHeaderSize: 1024 * 1024,
      factory: (url, options: Client.Options) =>
        // Once the pool has been told, too, which listens later.
        new Client(url, options).on('drain', () => queueMicrotask(() => this.#serveWaiting())),
      // undici's own connector takes the TLS server name from the request's Host; ours is that of the destination.
      connect: (_options, callback) => {
        this.#handshakes++;
        http1InUse.open++;
        connect()
          .then(
            (socket) => {
              if (socket.closed) http1InUse.open--;
              else socket.once('close', () => http1InUse.open--);
              callback(null, limitResponses(socket));
            },
            (error: Error) => {
              http1InUse.open--;
              // Before undici is told, which closes the pool: what waits would open more connections. Another server can be asked.
              for (const { fail } of this.#waiting.splice(0)) fail(error);
              callback(error, null);
            },
          )
          .finally(() => {
            this.#handshakes--;
            this.#serveWaiting();
          });
      },
    });
    this.#inUse = http1InUse;
    this.#maximumConnections = http1Connections;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const { headers, body, method } = options;
    const isUnexpected = body !== undefined && body !== null && !methodsWithContent.has(method);
    const request = {
      ...options,
      headers: Array.isArray(headers) ? requestLines(headers as string[]) : (headers ?? null),
      ...(isUnexpected ? { reset: true } : {}),
    };
    if (this.#waiting.length === 0 && this.#mayDispatch && !this.#isFull)
      return super.dispatch(request, handler);
    // The router's own questions, such as whether the server is ready, wait behind no client.
    const isClients = 'held' in handler && handler.held !== undefined;
    const fail = (error: Error): void => new DispatchedRequest(options, handler).fail(error, true);
    const begin = (): void => {
      if (isClients && this.#isFull) fail(new Error(tooManyConnections));
      else super.dispatch(request, handler);
    };
    if (isClients) this.#waiting.push({ begin, fail });
    else this.#waiting.unshift({ begin, fail });
    this.#serveWaiting();
    return true;
  }

  /** Waiting requests are still sent: they count as in flight. */
  override close(): Promise<void>;
  override close(callback: () => void): void;
  override close(callback?: () => void): Promise<void> | undefined {
    for (const { begin } of this.#waiting.splice(0)) begin();
    if (callback === undefined) return super.close();
    super.close(callback);
    return undefined;
  }

  override destroy(): Promise<void>;
  override destroy(error: Error | null): Promise<void>;
  override destroy(callback: () => void): void;
  override destroy(error: Error | null, callback: () => void): void;
  override destroy(...given: never[]): Promise<void> {
    const destroyed = super.destroy(...(given as unknown as [Error | null]));
    for (const { begin } of this.#waiting.splice(0)) begin();
    return destroyed;
  }

  get #mayDispatch(): boolean {
    return this.#handshakes < maximumHandshakes || this.stats.free > 0;
  }

  get #isFull(): boolean {
    return this.#inUse.open >= this.#maximumConnections && this.stats.free === 0;
  }

  #serveWaiting(): void {
    while (this.#waiting.length > 0 && this.#mayDispatch) this.#waiting.shift()?.begin();
  }
}
