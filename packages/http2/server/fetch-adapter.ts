import { Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { memoizeByName } from '../fields/header-fields.ts';
import type { RequestHead } from '../frames/message-heads.ts';
import { type Account, type Holder, MemoryBudget, type Relief } from '../sockets/held-bytes.ts';
import { AddressResets, networkOf } from './client-budgets.ts';
import {
  defaultHttp2ServerLimits,
  type Http2ServerLimits,
  ServerSession,
  type ServerSessionHost,
} from './server-session.ts';
import type { IncomingStream, ServerStream } from './server-stream.ts';

/** Methods that a web `Request` does not take (https://fetch.spec.whatwg.org/#forbidden-method). */
const forbiddenMethod = /^(?:connect|trace|track)$/i;

export type ReceivedRequest = Pick<IncomingStream, 'hasContent' | 'content' | 'isResponseSent' | 'follow'> & {
  readonly head: Pick<RequestHead, 'method' | 'target' | 'authority' | 'headers'>;
};

/**
 * A `Request` whose parts are made when they are first used. A proxy uses the method and the URL only, and takes the rest
 * from the request as it was received.
 */
class LightRequest {
  readonly #incoming: ReceivedRequest;
  readonly #host: string | undefined;
  #request: Request | undefined;

  constructor(incoming: ReceivedRequest, host: string | undefined) {
    this.#incoming = incoming;
    this.#host = host;
  }

  get method(): string {
    return this.#incoming.head.method;
  }

  get url(): string {
    const { target, authority } = this.#incoming.head;
    return `https://${this.#host ?? authority}${target.startsWith('/') ? target : '/'}`;
  }

  get whole(): Request {
    this.#request ??= wholeRequest(this, this.#incoming);
    return this.#request;
  }
}

/** The other members of `Request` (https://fetch.spec.whatwg.org/#request-class) make the whole request. */
for (const name of [
  ...['body', 'bodyUsed', 'cache', 'credentials', 'destination', 'duplex', 'headers', 'integrity'],
  ...['keepalive', 'mode', 'redirect', 'referrer', 'referrerPolicy', 'signal'],
]) {
  Object.defineProperty(LightRequest.prototype, name, {
    get(this: LightRequest) {
      return Reflect.get(this.whole, name);
    },
  });
}
for (const name of ['arrayBuffer', 'blob', 'bytes', 'clone', 'formData', 'json', 'text']) {
  Object.defineProperty(LightRequest.prototype, name, {
    value(this: LightRequest) {
      return Reflect.get(this.whole, name).call(this.whole);
    },
  });
}
let parent: object | undefined;

/** @param host of its URL. Default: the request's authority */
export function lightRequest(incoming: ReceivedRequest, host?: string): Request {
  // For `request instanceof Request`; @hono/node-server replaces the global `Request` by its own.
  if (parent !== Request.prototype) {
    parent = Request.prototype;
    Object.setPrototypeOf(LightRequest.prototype, parent);
  }
  return new LightRequest(incoming, host) as unknown as Request;
}

function wholeRequest({ method, url }: LightRequest, incoming: ReceivedRequest): Request {
  const { headers } = incoming.head;
  const lines = new Headers();
  for (let index = 0; index + 1 < headers.length; index += 2) {
    lines.append(headers[index] as string, headers[index + 1] as string);
  }
  const mayHaveBody = incoming.hasContent && method !== 'GET' && method !== 'HEAD';
  const request = new Request(url, {
    method: forbiddenMethod.test(method) ? 'OPTIONS' : method,
    headers: lines,
    signal: signalOf(incoming),
    ...(mayHaveBody ? { body: lazyBodyOf(incoming), duplex: 'half' } : {}),
  });
  // `Request` also changes the case of some methods.
  if (request.method !== method) Object.defineProperty(request, 'method', { value: method });
  return request;
}

function signalOf(incoming: ReceivedRequest): AbortSignal {
  const controller = new AbortController();
  incoming.follow({
    onClosed() {
      if (!incoming.isResponseSent) controller.abort(new Error('the client cancelled the request'));
    },
  });
  return controller.signal;
}

function lazyBodyOf(incoming: ReceivedRequest): ReadableStream<Uint8Array> {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        reader ??= Readable.toWeb(incoming.content).getReader();
        const { value } = await reader.read();
        if (value === undefined) controller.close();
        else controller.enqueue(value);
      },
      async cancel(reason) {
        await reader?.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/**
 * Writes a web `Response` to a stream, as fast as the client reads it. If the client goes away, the body is cancelled.
 * @throws if the head is invalid or the body fails: the caller must reset the stream.
 */
async function writeResponse(response: Response, stream: IncomingStream): Promise<void> {
  const { status, headers, body } = response;
  const lines: string[] = [];
  for (const [name, value] of headers) lines.push(name, value);
  stream.respond(status, lines);
  if (body !== null && stream.takesContent) await writeBody(body, stream);
  else body?.cancel().catch(() => {});
  stream.end();
}

async function writeBody(body: ReadableStream<Uint8Array>, stream: IncomingStream): Promise<void> {
  const reader = body.getReader();
  let resume = (): void => {};
  stream.attach({
    onRoom: () => resume(),
    onGone() {
      reader.cancel().catch(() => {});
      resume();
    },
  });
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    // https://fetch.spec.whatwg.org/#incrementally-read-loop
    if (!(value instanceof Uint8Array))
      throw new TypeError('a chunk of the response body is not a Uint8Array');
    if (stream.write(value)) continue;
    await new Promise<void>((resolve) => {
      resume = resolve;
    });
  }
}

export interface Http2Bindings {
  readonly incoming: IncomingStream;
}

type RefusalStatus =
  | 400
  /** CONNECT (RFC 9110 section 9.3.6). */
  | 405
  /** An expectation other than `100-continue` (RFC 9110 section 10.1.1). */
  | 417
  /** The head is too large (RFC 6585 section 5). */
  | 431;

export interface Http2ServerOptions {
  /**
   * Returns a `Response`; or writes the response into `bindings.incoming` and returns `RESPONSE_ALREADY_SENT` of
   * @hono/node-server. The parts of the `Request` are made when they are first used.
   */
  readonly fetch: (request: Request, bindings: Http2Bindings) => Response | Promise<Response>;
  readonly limits?: Partial<Http2ServerLimits>;
  /** For what is held for clients; others may share it. Default: one of 64 MiB. */
  readonly memory?: MemoryBudget;
  /** Is told when a request is refused, or something ends, because the memory runs short. Must not throw. Default: nothing. */
  readonly onRelief?: ((relief: Relief) => void) | undefined;
  /** The host of every request's URL. Default: the request's authority; 400 if that is not a valid host. */
  readonly host?: string;
  /**
   * The identity by which a client gets the higher limits (of resets, heads and memory), and under which what is held for
   * all its connections is counted together; `undefined`: the client has shown none. Default: the subject of the
   * certificate, if `socket.authorized`.
   */
  readonly identityOf?: (socket: TLSSocket) => string | undefined;
  /** The response if the fetch handler throws. Default: 500 without content. */
  readonly errorHandler?: (error: unknown) => Response | Promise<Response>;
  /** The response to a request that is refused before the fetch handler. Default: one without content. */
  readonly refusal?: (status: RefusalStatus) => Response;
  /**
   * Called for errors that no response can report: a response that could not be written or whose body failed (its stream
   * is reset), or a connection that ends because of an error of ours. Default: nothing.
   */
  readonly onFailure?: (what: 'response' | 'connection', error: unknown) => void;
}

export interface Http2Server {
  /** Serves a connection that negotiated `h2` (ALPN) and from which nothing was read yet. */
  take(socket: TLSSocket): void;
  /**
   * Since when a connection has been without a request, in milliseconds of `performance.now`; `undefined`: it has one, or is
   * none of HTTP/2.
   */
  restingSince(socket: TLSSocket): number | undefined;
  /**
   * Sends GOAWAY to all clients; each connection ends after its requests in flight. A connection that is taken later
   * gets its GOAWAY with the first request, which is still served. Resolves when no connection is left.
   */
  close(): Promise<void>;
  destroy(): void;
}

/**
 * Serves HTTP/2 connections by a fetch handler, as @hono/node-server does for HTTP/1.1.
 *
 * @example
 * ```ts
 * const http2 = serveHttp2({ fetch: () => new Response('hello') });
 * const server = createServer({ cert, key, ALPNProtocols: ['h2'] });
 * server.on('secureConnection', (socket) => http2.take(socket));
 * server.listen(0, '127.0.0.1');
 * await once(server, 'listening');
 *
 * server.close();
 * await http2.close();
 * ```
 */
export function serveHttp2(options: Http2ServerOptions): Http2Server {
  return new FetchAdapter(options);
}

const checksPerTimeout = 4;

/**
 * True if an authority is a valid host of a URL. No authority has a character that would end a host
 * (`message-heads.ts`).
 */
const isHostOfUrl = memoizeByName((authority) => URL.canParse(`https://${authority}/`));

function subjectOfAuthorized(socket: TLSSocket): string | undefined {
  return socket.authorized ? (socket.getPeerX509Certificate()?.subject ?? 'authorized') : undefined;
}

class FetchAdapter implements Http2Server, ServerSessionHost {
  readonly limits: Http2ServerLimits;
  readonly addresses = new AddressResets();
  readonly #options: Http2ServerOptions;
  readonly #memory: MemoryBudget;
  readonly #sessions = new Map<TLSSocket, ServerSession>();
  #timer: NodeJS.Timeout | undefined;
  #closed: PromiseWithResolvers<void> | undefined;

  constructor(options: Http2ServerOptions) {
    this.#options = options;
    this.limits = { ...defaultHttp2ServerLimits, ...options.limits };
    this.#memory = options.memory ?? new MemoryBudget(64 * 1024 * 1024);
  }

  take(socket: TLSSocket): void {
    const session = new ServerSession(socket, this);
    this.#sessions.set(socket, session);
    socket.once('close', () => {
      this.#sessions.delete(socket);
      this.#resolveIfClosed();
    });
    // One timer for all: a timer per connection would have to be reset with every frame.
    const { keepAliveTimeout, headerBlockTimeout } = this.limits;
    const interval = Math.min(keepAliveTimeout, headerBlockTimeout) / checksPerTimeout;
    this.#timer ??= setInterval(() => {
      for (const each of this.#sessions.values()) each.checkTimeouts(interval);
    }, interval).unref();
  }

  close(): Promise<void> {
    this.#closed ??= Promise.withResolvers();
    for (const session of this.#sessions.values()) session.close();
    this.#resolveIfClosed();
    return this.#closed.promise;
  }

  destroy(): void {
    for (const { socket } of this.#sessions.values()) socket.destroy();
  }

  restingSince(socket: TLSSocket): number | undefined {
    return this.#sessions.get(socket)?.restingSince;
  }

  account(socket: TLSSocket, connection: Holder): Account {
    const { identityOf = subjectOfAuthorized, onRelief } = this.#options;
    const identity = identityOf(socket);
    return this.#memory.account({
      name: identity ?? `address ${networkOf(socket.remoteAddress ?? '')}`,
      isVerified: identity !== undefined,
      connection,
      onRelief,
    });
  }

  headTooLarge(stream: ServerStream): void {
    if (this.#closed !== undefined) stream.closeConnection();
    this.#refuse(stream, 431);
  }

  requested(stream: ServerStream): void {
    if (this.#closed !== undefined) stream.closeConnection();
    const { method, authority, expectation } = stream.head;
    const { host, fetch } = this.#options;
    if (method === 'CONNECT') this.#refuse(stream, 405);
    else if (expectation !== undefined && expectation !== '100-continue') this.#refuse(stream, 417);
    else if (host === undefined && !isHostOfUrl(authority)) this.#refuse(stream, 400);
    else {
      // RFC 9110 section 10.1.1.
      if (expectation !== undefined && stream.hasContent) stream.respondInterim(100);
      try {
        const response = fetch(lightRequest(stream, host), { incoming: stream });
        // No `await`: another promise would cost every request.
        if (response instanceof Promise) {
          response.then(
            (settled) => this.respond(stream, settled),
            (error: unknown) => this.#handlerFailed(stream, error),
          );
        } else this.respond(stream, response);
      } catch (error) {
        this.#handlerFailed(stream, error);
      }
    }
  }

  failed(error: unknown): void {
    this.#options.onFailure?.('connection', error);
  }

  #resolveIfClosed(): void {
    if (this.#sessions.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#closed?.resolve();
  }

  #refuse(stream: ServerStream, status: RefusalStatus): void {
    try {
      this.respond(stream, this.#options.refusal?.(status) ?? new Response(null, { status }));
    } catch (error) {
      this.#handlerFailed(stream, error);
    }
  }

  respond(stream: ServerStream, response: Response): void {
    // The handler has written the response already: what it returns only stands for that response.
    if (response === RESPONSE_ALREADY_SENT || (stream.status !== undefined && response?.body === null))
      return;
    if (typeof response?.status === 'number') {
      this.#write(stream, response).catch((error: unknown) => this.#broken(stream, error));
    } else this.#handlerFailed(stream, new TypeError('the fetch handler did not return a Response'));
  }

  async #write(stream: ServerStream, response: Response): Promise<void> {
    // For HEAD Hono returns a copy of the response, with the mark or without.
    if (stream.isClosed || stream.status !== undefined) await response.body?.cancel().catch(() => {});
    else if (!response.headers.has('x-hono-already-sent')) await writeResponse(response, stream);
  }

  #handlerFailed(stream: ServerStream, error: unknown): void {
    this.#writeError(stream, error).catch((writeError: unknown) => this.#broken(stream, writeError));
  }

  async #writeError(stream: ServerStream, error: unknown): Promise<void> {
    const { errorHandler } = this.#options;
    const response =
      errorHandler === undefined ? new Response(null, { status: 500 }) : await errorHandler(error);
    // Too late for a status: the client must not take a part for the whole response.
    if (stream.status !== undefined) stream.breakOff();
    await this.#write(stream, response);
  }

  #broken(stream: ServerStream, error: unknown): void {
    // The body was cancelled because the client went away: no error.
    if (stream.isClosed) return;
    stream.breakOff();
    this.#options.onFailure?.('response', error);
  }
}
