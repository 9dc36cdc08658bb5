import type { TLSSocket } from 'node:tls';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { rememberingNames } from '../fields/remembered-names.ts';
import { AddressConduct } from './address-conduct.ts';
import type { IncomingStream } from './incoming-stream.ts';
import { lightRequest } from './light-request.ts';
import { defaultHttp2ServerLimits, type Http2ServerLimits } from './server-limits.ts';
import { ServerSession } from './server-session.ts';
import type { ServerSessionHost } from './server-session-host.ts';
import type { ServerStream } from './server-stream.ts';
import { UnfinishedHeads } from './unfinished-heads.ts';
import { writeResponse } from './write-response.ts';

/** What the fetch handler is given beside the `Request`, as Hono's `context.env`. */
export interface Http2Bindings {
  readonly incoming: IncomingStream;
}

/** Statuses of answers that the adapter gives itself. */
export type RefusalStatus =
  /** The authority is no host of a URL. */
  | 400
  /** CONNECT (RFC 9110 section 9.3.6). */
  | 405
  /** An expectation other than `100-continue` (RFC 9110 section 10.1.1). */
  | 417
  /** The head is too large (RFC 6585 section 5). */
  | 431;

export interface Http2ServerOptions {
  /**
   * Answers a request with a `Response`, or writes the answer into `bindings.incoming` and returns
   * `RESPONSE_ALREADY_SENT` of @hono/node-server. It is given a `Request` whose parts come into being when it asks for
   * them.
   */
  readonly fetch: (request: Request, bindings: Http2Bindings) => Response | Promise<Response>;
  /** Default: `defaultHttp2ServerLimits`. */
  readonly limits?: Partial<Http2ServerLimits>;
  /** The host of every request's URL. Default: what the client calls it; 400 where that is no host of a URL. */
  readonly host?: string;
  /** Whether a client may be trusted with more (`maximumVerifiedHeaderBytes`, `resets`). Default: `socket.authorized`. */
  readonly isVerified?: (socket: TLSSocket) => boolean;
  /** The answer where the fetch handler fails. Default: 500 without content. */
  readonly errorHandler?: (error: unknown) => Response | Promise<Response>;
  /** The answer to what the fetch handler is not asked. Default: one without content. */
  readonly refusal?: (status: RefusalStatus) => Response;
  /**
   * Told of failures that no answer can tell of: an answer that could not be written or whose body failed, which breaks
   * off, or a connection that ends by a fault of ours. Default: nobody is told.
   */
  readonly onFailure?: (what: 'answer' | 'connection', error: unknown) => void;
}

/** HTTP/2 connections, served by a fetch handler. */
export interface Http2Server {
  /** Serves a connection on which TLS has agreed on `h2`, and from which nothing has been read. */
  take(socket: TLSSocket): void;
  /**
   * Tells all clients to go elsewhere (GOAWAY): their connections end behind the requests that are under way. Whoever is
   * taken later has its first request answered, and is told so with it. Resolves when none is left.
   */
  close(): Promise<void>;
  /** Ends all connections at once. */
  destroy(): void;
}

/**
 * Serves HTTP/2 connections by a fetch handler, as @hono/node-server does for HTTP/1.1.
 *
 *     const http2 = serveHttp2({ fetch: app.fetch });
 *     tlsServer.on('secureConnection', (socket) => http2.take(socket));
 */
export function serveHttp2(options: Http2ServerOptions): Http2Server {
  return new FetchAdapter(options);
}

/** Looks at a connection in the time that it may be idle. */
const looksUntilIdle = 4;
/** RFC 9110 section 10.1.1. */
const continueStatus = 100;
/** What @hono/node-server has in the head of `RESPONSE_ALREADY_SENT`, by which a copy of it is known. */
const alreadySentMark = 'x-hono-already-sent';

/** Whether an authority can stand in a URL; it has no character that ends one. */
const isHostOfUrl = rememberingNames((authority) => URL.canParse(`https://${authority}/`));

class FetchAdapter implements Http2Server, ServerSessionHost {
  readonly limits: Http2ServerLimits;
  readonly addresses = new AddressConduct();
  readonly #options: Http2ServerOptions;
  readonly #unfinishedOfOthers: UnfinishedHeads;
  readonly #unfinishedOfVerified: UnfinishedHeads;
  readonly #sessions = new Set<ServerSession>();
  /** Runs while there is a connection. */
  #looks: NodeJS.Timeout | undefined;
  #closed: PromiseWithResolvers<void> | undefined;

  constructor(options: Http2ServerOptions) {
    this.#options = options;
    this.limits = { ...defaultHttp2ServerLimits, ...options.limits };
    const { maximumUnfinishedHeads: maximumBytes, headerBlockTimeout: timeout } = this.limits;
    this.#unfinishedOfOthers = new UnfinishedHeads({ maximumBytes, timeout });
    // Apart, so that nobody without a certificate takes the room of those who have one.
    this.#unfinishedOfVerified = new UnfinishedHeads({ maximumBytes, timeout });
  }

  take(socket: TLSSocket): void {
    this.#sessions.add(new ServerSession(socket, this));
    // A time-out of each connection would be set anew with every frame, which each event of a long answer would pay for.
    this.#looks ??= setInterval(() => this.#look(), this.limits.keepAliveTimeout / looksUntilIdle).unref();
  }

  close(): Promise<void> {
    this.#closed ??= Promise.withResolvers();
    for (const session of this.#sessions) session.close();
    this.#settle();
    return this.#closed.promise;
  }

  destroy(): void {
    for (const { socket } of this.#sessions) socket.destroy();
  }

  isVerified(socket: TLSSocket): boolean {
    return this.#options.isVerified?.(socket) ?? socket.authorized;
  }

  maximumHeaderBytes(isVerified: boolean): number {
    return isVerified ? this.limits.maximumVerifiedHeaderBytes : this.limits.maximumHeaderBytes;
  }

  unfinishedHeads(isVerified: boolean): UnfinishedHeads {
    return isVerified ? this.#unfinishedOfVerified : this.#unfinishedOfOthers;
  }

  headTooLarge(session: ServerSession, stream: ServerStream): void {
    if (this.#closed !== undefined) session.close();
    this.#refuse(stream, 431);
  }

  requested(session: ServerSession, stream: ServerStream): void {
    if (this.#closed !== undefined) session.close();
    const { method, authority, expectation } = stream.head;
    const { host, fetch } = this.#options;
    if (method === 'CONNECT') this.#refuse(stream, 405);
    else if (expectation !== undefined && expectation !== '100-continue') this.#refuse(stream, 417);
    else if (host === undefined && !isHostOfUrl(authority)) this.#refuse(stream, 400);
    else {
      if (expectation !== undefined && stream.hasContent) stream.respondInterim(continueStatus);
      try {
        const response = fetch(lightRequest(stream, host), { incoming: stream });
        // One promise: each `await` more would cost every request.
        if (response instanceof Promise) {
          response.then(
            (settled) => this.#answer(stream, settled),
            (error: unknown) => this.#handlerFailed(stream, error),
          );
        } else this.#answer(stream, response);
      } catch (error) {
        this.#handlerFailed(stream, error);
      }
    }
  }

  failed(error: unknown): void {
    this.#options.onFailure?.('connection', error);
  }

  closed(session: ServerSession): void {
    this.#sessions.delete(session);
    this.#settle();
  }

  #settle(): void {
    if (this.#sessions.size > 0) return;
    clearInterval(this.#looks);
    this.#looks = undefined;
    this.#closed?.resolve();
  }

  #look(): void {
    for (const session of this.#sessions) if (session.look() > looksUntilIdle) session.close();
  }

  #refuse(stream: ServerStream, status: RefusalStatus): void {
    try {
      this.#answer(stream, this.#options.refusal?.(status) ?? new Response(null, { status }));
    } catch (error) {
      this.#handlerFailed(stream, error);
    }
  }

  /** What a handler has written into the stream itself is there already when its `Response` comes. */
  #answer(stream: ServerStream, response: Response): void {
    if (response === RESPONSE_ALREADY_SENT) return;
    if (typeof response?.status === 'number') {
      this.#write(stream, response).catch((error: unknown) => this.#brokenOff(stream, error));
    } else this.#handlerFailed(stream, new TypeError('the fetch handler has returned no Response'));
  }

  async #write(stream: ServerStream, response: Response): Promise<void> {
    // For HEAD Hono hands back a new response, with the mark or without.
    if (stream.isClosed || stream.status !== undefined) await response.body?.cancel().catch(() => {});
    else if (!response.headers.has(alreadySentMark)) await writeResponse(response, stream);
  }

  #handlerFailed(stream: ServerStream, error: unknown): void {
    this.#writeFailure(stream, error).catch((fault: unknown) => this.#brokenOff(stream, fault));
  }

  async #writeFailure(stream: ServerStream, error: unknown): Promise<void> {
    const { errorHandler } = this.#options;
    const response =
      errorHandler === undefined ? new Response(null, { status: 500 }) : await errorHandler(error);
    // Too late for a status: the client must not take what it has for the whole.
    if (stream.status !== undefined) stream.breakOff();
    await this.#write(stream, response);
  }

  #brokenOff(stream: ServerStream, error: unknown): void {
    // Who went away has ended the body by that.
    if (stream.isClosed) return;
    stream.breakOff();
    this.#options.onFailure?.('answer', error);
  }
}
