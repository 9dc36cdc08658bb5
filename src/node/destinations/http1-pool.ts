import type { TLSSocket } from 'node:tls';
import { type Dispatcher, Pool } from 'undici';
import type { OpenHttp1 } from '../../http2/client/http1-fallback.ts';
import { requestLines } from '../../http2/fields/connection-headers.ts';
import { maximumHeaderBytes } from '../exchange/serving-limits.ts';
import { limitAnswers } from './limited-answers.ts';

export interface Http1PoolOptions {
  readonly origin: string;
  /** At a time; a watch holds one for itself. */
  readonly connections: number;
  /** Milliseconds an idle connection is kept; less than servers keep it, so that they do not close first. */
  readonly keepAliveTimeout: number;
  /** A connection on which HTTP/1.1 was agreed. */
  readonly connect: () => Promise<TLSSocket>;
}

/** The methods whose content has a meaning to every server (RFC 9110 section 9.3). */
const methodsWithContent: ReadonlySet<string> = new Set(['PATCH', 'POST', 'PUT']);

/**
 * Handshakes that may be under way. undici's pool begins one for each request that finds no idle connection, and ends it
 * when nobody wants the answer any more: a client that resets its requests as fast as it can (CVE-2023-44487) would have
 * thousands of them made.
 */
const maximumHandshakes = 16;

/** Opens undici's pool for a server that speaks no HTTP/2. */
export function http1Pool(options: Http1PoolOptions): OpenHttp1 {
  return (firstSocket) => new Http1Pool(options, firstSocket);
}

/**
 * undici's pool, for a request as it came in: its lines about the connection are left out, which undici throws on.
 *
 * A body on a method that is not expected to have one passes, with its framing: what is behind the API server
 * may want it (searches by GET through the subresource `proxy`, DeleteOptions). But a server that does not expect
 * one takes it for the next request on the connection, under whatever identity is written there
 * (GHSA-ggv3-7p47-pfv8). So such a request says `Connection: close`, behind which nothing is a request (RFC 9112
 * section 9.6), and its connection ends with it. HTTP/2 frames leave no such doubt.
 */
class Http1Pool extends Pool {
  #handshakes = 0;
  /** Requests that found no idle connection, and enough of them on the way. */
  readonly #waiting: (() => void)[] = [];

  constructor(options: Http1PoolOptions, firstSocket: () => TLSSocket | undefined) {
    const { origin, connections, keepAliveTimeout, connect } = options;
    super(origin, {
      connections,
      // One request at a time on a connection: pipelined, a watch would hold up all that follow.
      pipelining: 1,
      allowH2: false,
      // undici's 300 s would end a quiet watch; the exchange has its own timer up to the head.
      bodyTimeout: 0,
      headersTimeout: 0,
      keepAliveTimeout,
      maxHeaderSize: maximumHeaderBytes,
      // undici's own connector takes the TLS name from the request's Host; ours is pinned to the destination.
      connect: (_options, callback) => {
        const first = firstSocket();
        // Never at once: undici does not send what waits for a connection that is there before it returns.
        const connected = first === undefined ? connect() : Promise.resolve(first);
        this.#handshakes++;
        connected
          .then(
            (socket) => callback(null, limitAnswers(socket)),
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

  /** What waits goes on: it is in flight as much as what has begun. */
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
    // They are told that it is destroyed.
    for (const dispatch of this.#waiting.splice(0)) dispatch();
    return destroyed;
  }

  /** Whether a request finds an idle connection, or may have one opened. */
  get #mayDispatch(): boolean {
    return this.#handshakes < maximumHandshakes || this.stats.free > 0;
  }

  #serveWaiting(): void {
    while (this.#waiting.length > 0 && this.#mayDispatch) this.#waiting.shift()?.();
  }
}
