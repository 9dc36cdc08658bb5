import type { TLSSocket } from 'node:tls';
import { type Dispatcher, Pool } from 'undici';
import type { OpenHttp1 } from '../../http2/client/http2-pool.ts';
import { requestLines } from '../../http2/fields/header-fields.ts';
import { maximumHeaderBytes } from '../exchange/serving-limits.ts';
import { limitResponses } from './limited-responses.ts';

interface Http1PoolOptions {
  readonly origin: string;
  /** Open connections at most; a watch occupies one. */
  readonly connections: number;
  /** Milliseconds that an idle connection is kept; less than servers keep it, so that they do not close first. */
  readonly keepAliveTimeout: number;
  /** Opens a connection with HTTP/1.1. */
  readonly connect: () => Promise<TLSSocket>;
}

/** Methods whose content every server expects (RFC 9110 section 9.3). */
const methodsWithContent: ReadonlySet<string> = new Set(['PATCH', 'POST', 'PUT']);

/**
 * Concurrent handshakes. undici's pool begins one for each request that finds no idle connection, and aborts it when the
 * request is cancelled: a client that resets requests as fast as it can (CVE-2023-44487) would cause thousands.
 */
const maximumHandshakes = 16;

/** Makes undici's pool for a server without HTTP/2. */
export function http1Pool(options: Http1PoolOptions): OpenHttp1 {
  return (firstSocket) => new Http1Pool(options, firstSocket);
}

/**
 * undici's pool, without the connection-specific lines of a request, on which undici throws.
 *
 * A body is forwarded for methods that usually have none, too: servers behind the API server may need it (searches by GET
 * through the subresource `proxy`, DeleteOptions). But a server that does not expect a body may read it as the next
 * request, with any identity in it (GHSA-ggv3-7p47-pfv8). So such a request has `Connection: close`, after which nothing
 * is a request (RFC 9112 section 9.6). HTTP/2 framing has no such ambiguity.
 */
class Http1Pool extends Pool {
  #handshakes = 0;
  /** Requests that wait because there is no idle connection and `maximumHandshakes` is reached. */
  readonly #waiting: (() => void)[] = [];

  constructor(options: Http1PoolOptions, firstSocket: () => TLSSocket | undefined) {
    const { origin, connections, keepAliveTimeout, connect } = options;
    super(origin, {
      connections,
      // One request at a time on a connection: with pipelining a watch would block all that follow.
      pipelining: 1,
      allowH2: false,
      // undici's 300 s would end a quiet watch; the exchange has its own timer up to the head.
      bodyTimeout: 0,
      headersTimeout: 0,
      keepAliveTimeout,
      maxHeaderSize: maximumHeaderBytes,
      // undici's own connector takes the TLS server name from the request's Host; ours is that of the destination.
      connect: (_options, callback) => {
        const first = firstSocket();
        // Never synchronously: undici would not send the waiting requests on a connection that it gets before it returns.
        const connected = first === undefined ? connect() : Promise.resolve(first);
        this.#handshakes++;
        connected
          .then(
            (socket) => callback(null, limitResponses(socket)),
            (error: Error) => callback(error, null),
          )
          .finally(() => {
            this.#handshakes--;
            this.#serveWaiting();
          });
      },
    });
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const { headers, body, method } = options;
    const isUnexpected = body !== undefined && body !== null && !methodsWithContent.has(method);
    const request = {
      ...options,
      headers: Array.isArray(headers) ? requestLines(headers as string[]) : (headers ?? null),
      ...(isUnexpected ? { reset: true } : {}),
    };
    if (this.#waiting.length === 0 && this.#mayDispatch) return super.dispatch(request, handler);
    this.#waiting.push(() => super.dispatch(request, handler));
    this.#serveWaiting();
    return true;
  }

  /** Waiting requests are still sent: they count as in flight. */
  override close(): Promise<void>;
  override close(callback: () => void): void;
  override close(callback?: () => void): Promise<void> | undefined {
    for (const dispatch of this.#waiting.splice(0)) dispatch();
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
    // Waiting requests fail because the pool is destroyed.
    for (const dispatch of this.#waiting.splice(0)) dispatch();
    return destroyed;
  }

  /** Whether a request finds an idle connection, or may open one. */
  get #mayDispatch(): boolean {
    return this.#handshakes < maximumHandshakes || this.stats.free > 0;
  }

  #serveWaiting(): void {
    while (this.#waiting.length > 0 && this.#mayDispatch) this.#waiting.shift()?.();
  }
}
