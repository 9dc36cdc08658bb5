import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex, Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { getRequestListener } from '@hono/node-server';
import {
  connectionBelow,
  type Holding,
  lightRequest,
  type ReceivedRequest,
  type StreamFollower,
} from '../../../packages/http2/shared.ts';
import { retryAfterSeconds, statusParts, statusResponse } from '../../apimachinery/status.ts';
import { announcesBody } from '../../request/inbound.ts';
import { errorCode } from '../../runtime/errors.ts';
import { type Logger, silentLogger } from '../../runtime/logger.ts';
import type { Deadlines } from '../exchange/deadlines.ts';
import {
  endAfterResponse,
  issueOfHead,
  takeAbsoluteForm,
  writeLastResponse,
} from '../exchange/http1-heads.ts';
import {
  type ExchangeEnd,
  type NodeBindings,
  type NodeInboundOptions,
  NodeInboundRequest,
} from '../exchange/node-inbound.ts';
import type { ResponseSink } from '../exchange/response-sink.ts';
import type { HeadRefusal } from './held-by-http1.ts';
import { Http1ResponseSink } from './http1-response-sink.ts';

function explain(code: string): string {
  if (code === 'HPE_HEADER_OVERFLOW') return 'the header of the request is too large';
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'the request did not arrive in time';
  return 'the request is not valid HTTP';
}

/** RFC 6585 section 5. */
export function headTooLargeResponse(): Response {
  return statusResponse('RequestHeaderFieldsTooLarge', explain('HPE_HEADER_OVERFLOW'));
}

/** True if bytes came after a request with `Connection: close`: they are ignored (RFC 9112 section 9.6). */
export function isAfterLastRequest(error: Error): boolean {
  return errorCode(error) === 'HPE_CLOSED_CONNECTION';
}

function isHttpError(error: Error): boolean {
  return errorCode(error).startsWith('HPE_');
}

/** Connections with their last response; the parser reports an error for each further piece of the request. */
const ending = new WeakSet<Duplex>();

/**
 * Responds to invalid HTTP with a 400 Status, or 431, and closes. Ambiguous requests (both Content-Length and
 * Transfer-Encoding, bare LF, folded lines) end here, too.
 *
 * @param current the response in progress on this connection, if there is one
 */
export function respondToClientError(
  error: Error,
  socket: Duplex,
  current: ServerResponse | undefined,
): void {
  if (ending.has(socket)) return;
  const code = errorCode(error);
  const spokeHttp = isHttpError(error) || code === 'ERR_HTTP_REQUEST_TIMEOUT';
  // After a failed handshake there is no HTTP, and a second head must not be written into a body.
  const isResponding = current?.headersSent === true && !current.writableFinished;
  // Without a request there is no response: the client could take it for that to its next request.
  const hasSentNothing = socket instanceof Socket && socket.bytesRead === 0;
  if (!spokeHttp || isResponding || hasSentNothing || !socket.writable) {
    socket.destroy();
    return;
  }
  ending.add(socket);
  socket.on('error', () => {});
  const response =
    code === 'HPE_HEADER_OVERFLOW' ? headTooLargeResponse() : statusResponse('BadRequest', explain(code));
  writeLastResponse(socket, response).catch(() => socket.destroy());
}

/** The response of Go's servers, and so of kube-apiserver (net/http, `conn.serve`). */
const response = 'HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n';

/** Tells a client that speaks HTTP without TLS so, in HTTP: a connection that ends without a word tells it nothing. */
export function refusePlainHttp(error: Error, socket: TLSSocket): void {
  if (errorCode(error) !== 'ERR_SSL_HTTP_REQUEST') return;
  const connection = connectionBelow(socket);
  if (!connection?.writable) return;
  connection.write(response);
  // Not `end`: a client that never ends its half would keep the connection.
  connection.destroySoon();
}

export interface RequestHandlerOptions extends NodeInboundOptions {
  /** The app's `fetch`; `bindings.inbound` is the request as it was received (see `nodeInbound`). */
  readonly fetch: (request: Request, bindings: NodeBindings) => Response | Promise<Response>;
  readonly logger?: Logger;
}

export function requestHandler(
  options: RequestHandlerOptions,
): (incoming: IncomingMessage, outgoing: ServerResponse, held: Holding | HeadRefusal) => void {
  const { fetch, logger = silentLogger } = options;
  return (incoming, outgoing, held) => {
    const issue = issueOfHead(incoming.httpVersion, incoming.rawHeaders);
    if (issue !== undefined) {
      refuseHead(outgoing, issue);
      return;
    }
    takeAbsoluteForm(incoming);
    if (held === 'too large' || held === 'no memory') {
      discardUnreadBody(incoming, outgoing);
      if (held === 'no memory') refuseForMemory(outgoing);
      else refuseForSize(outgoing);
      return;
    }
    const inbound = new Http1Inbound(incoming, outgoing, held, options);
    if (inbound.hasContent) discardUnreadBody(incoming, outgoing);
    respond(fetch, inbound, { incoming, outgoing, inbound }, logger).catch((error: unknown) =>
      breakOff(outgoing, error, logger),
    );
  };
}

async function respond(
  fetch: RequestHandlerOptions['fetch'],
  received: ReceivedRequest,
  bindings: Required<NodeBindings>,
  logger: Logger,
): Promise<void> {
  let response: Response;
  try {
    response = await fetch(lightRequest(received), bindings);
  } catch (error) {
    response = errorResponse(error, logger);
  }
  // A sink may have begun to write one: that is left alone.
  if (!bindings.outgoing.headersSent) {
    await writeResponse(response, bindings.incoming, bindings.outgoing, logger);
  }
}

/** Options of the writer of @hono/node-server. */
const writerOptions = {
  // The writer's clean-up would cut uploads after an early response. Unread bodies are released when the response ends
  // instead.
  autoCleanupIncoming: false,
  // With the writer's own class, each `Response` that was made, or derived, before would not be one of that class.
  overrideGlobalObjects: false,
  hostname: 'localhost',
};

/** Writes a web `Response` as @hono/node-server does. */
async function writeResponse(
  response: Response,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  logger: Logger,
): Promise<void> {
  // A 400 of the router means that the request is ambiguous: what follows on the connection may be a part of it, and is
  // not read (RFC 9112 section 11.2).
  if (response.status === 400) outgoing.shouldKeepAlive = false;
  // Nor does a refused certificate get better: clients would keep an expired one as long as the connection (urllib3 does).
  if (response.status === 401) outgoing.shouldKeepAlive = false;
  const { body } = response;
  const written =
    body === null
      ? response
      : new Response(
          watched(body, (error) => breakOff(outgoing, error, logger)),
          response,
        );
  hideFromUrl(incoming);
  await getRequestListener(() => written, writerOptions)(incoming, outgoing);
}

function refuseHead(outgoing: ServerResponse, issue: string): void {
  const { code, headers, body } = statusParts('BadRequest', `the request is not valid HTTP: ${issue}`);
  outgoing.writeHead(code, { ...headers, connection: 'close' }).end(body);
}

/** To a client that asks for a tunnel, on whose connection no further request can come. */
export function refuseUpgrade(socket: Duplex, refusal: HeadRefusal): void {
  socket.on('error', () => socket.destroy());
  const response =
    refusal === 'too large'
      ? headTooLargeResponse()
      : statusResponse('TooManyRequests', tooMuchHeld, { retryAfterSeconds });
  writeLastResponse(socket, response).catch(() => socket.destroy());
}

/** GET or HEAD of the router's own health, which a kubelet and a load balancer ask for. */
export function isHealthCheck(method = '', target = ''): boolean {
  return (method === 'GET' || method === 'HEAD') && /^\/(?:livez|readyz|healthz)(?:[/?]|$)/.test(target);
}

/** Connections have run short; only health checks are answered on this one. */
export const noConnectionLeft = 'The router has no room for more connections now, please try again later.';

export function refuseForConnections(outgoing: ServerResponse): void {
  const { code, headers, body } = statusParts('TooManyRequests', noConnectionLeft, { retryAfterSeconds });
  outgoing.writeHead(code, { ...headers, connection: 'close' }).end(body);
}

/** RFC 6585 section 5. */
function refuseForSize(outgoing: ServerResponse): void {
  const { code, headers, body } = statusParts('RequestHeaderFieldsTooLarge', explain('HPE_HEADER_OVERFLOW'));
  outgoing.writeHead(code, { ...headers, connection: 'close' }).end(body);
}

/** There is no memory for the request: the client may send it again (client-go does, for a Retry-After). */
function refuseForMemory(outgoing: ServerResponse): void {
  const { code, headers, body } = statusParts('TooManyRequests', tooMuchHeld, { retryAfterSeconds });
  outgoing.writeHead(code, headers).end(body);
}

const tooMuchHeld = 'The router has no memory for this request now, please try again later.';

const drainBytes = 64 * 1024 * 1024;
const drainMilliseconds = 5_000;

/**
 * Reads and discards the rest of an upload after an early response (401, 413, 503), up to a limit. Otherwise the client,
 * which is still sending, might not get it: a socket that is closed with unread data sends a TCP reset. HTTP/2 has an
 * error code for this.
 */
function discardUnreadBody(incoming: IncomingMessage, outgoing: ServerResponse): void {
  // Kept here: a body that was destroyed by a reader has no socket any more on 'finish'.
  const { socket } = incoming;
  outgoing.once('prefinish', () => {
    if (incoming.complete || outgoing.shouldKeepAlive) return;
    // After the last response Node would destroy the socket at once.
    socket.destroySoon = () => {
      // The request has come to its end since, and may be closed already.
      if (incoming.complete) {
        endAfterResponse(socket);
        return;
      }
      socket.end();
      incoming.once('close', () => endAfterResponse(socket));
    };
  });
  outgoing.once('finish', () => {
    if (incoming.complete) return;
    let left = drainBytes;
    const timer = setTimeout(() => socket.destroy(), drainMilliseconds);
    incoming.on('data', (chunk: Buffer) => {
      left -= chunk.length;
      if (left < 0) socket.destroy();
    });
    incoming.once('close', () => clearTimeout(timer));
    incoming.resume();
  });
}

class Http1Inbound extends NodeInboundRequest implements ReceivedRequest {
  readonly authority = 'localhost';
  protected readonly carrier: IncomingMessage;
  readonly held: Holding;
  readonly #outgoing: ServerResponse;
  readonly #deadlines: Deadlines | undefined;
  #hasContent: boolean | undefined;

  constructor(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    held: Holding,
    options: NodeInboundOptions,
  ) {
    super(incoming.method ?? 'GET', incoming.url ?? '', incoming.rawHeaders, incoming.httpVersion, options);
    this.carrier = incoming;
    this.held = held;
    this.#outgoing = outgoing;
    const { end, whole } = this;
    this.#deadlines = options.deadlines;
    outgoing.on('close', () => {
      whole.reached();
      end.reached();
    });
  }

  get head(): this {
    return this;
  }

  get content(): Readable {
    return this.carrier;
  }

  follow(follower: StreamFollower): void {
    this.onFinished(() => follower.onClosed());
  }

  get hasContent(): boolean {
    this.#hasContent ??= announcesBody(this);
    return this.#hasContent;
  }

  /** Never: the parser destroys the stream of an incomplete body. */
  protected get isBodyCutShort(): boolean {
    return false;
  }

  get isClosed(): boolean {
    return this.#outgoing.destroyed;
  }

  responseSink(): ResponseSink {
    const deadlines = this.isLimited ? undefined : this.#deadlines;
    const onWhole = responseIsWhole(this.whole, this.#outgoing, deadlines);
    return new Http1ResponseSink(this.#outgoing, this, this.held, onWhole);
  }

  protected get isResponseBegun(): boolean {
    return this.#outgoing.headersSent;
  }

  get isResponseSent(): boolean {
    return this.#outgoing.writableFinished;
  }

  override expire(): void {
    // Nothing after an upload that is not complete can be read as a request.
    if (!this.carrier.complete) this.#outgoing.shouldKeepAlive = false;
    super.expire();
  }
}

/** Refers to no request: an open watch must not keep its own in memory. @param deadlines for the client to take the response */
function responseIsWhole(
  whole: ExchangeEnd,
  outgoing: ServerResponse,
  deadlines: Deadlines | undefined,
): () => void {
  return () => {
    whole.reached();
    if (deadlines === undefined || outgoing.destroyed) return;
    const late = { expire: () => void outgoing.destroy() };
    const place = deadlines.add(late);
    outgoing.once('close', () => deadlines.remove(late, place));
  };
}

export function errorResponse(error: unknown, logger: Logger): Response {
  logger.error({ error: String(error) }, 'A request failed');
  return statusResponse('InternalError', 'Internal error occurred: the request could not be handled');
}

/**
 * @hono/node-server makes a URL of host and target, and refuses what is none. The router has responded by then: it decides
 * on and forwards the request as it was received.
 */
function hideFromUrl(incoming: IncomingMessage): void {
  incoming.headers.host = 'localhost';
  incoming.url = '/';
}

function breakOff(outgoing: ServerResponse, error: unknown, logger: Logger): void {
  logger.error({ error: String(error) }, 'A response could not be written');
  outgoing.destroy(error instanceof Error ? error : new Error(String(error)));
}

/** The same body. Told of its failure first: the adapter would end the response in good order, with the error's words. */
function watched(body: ReadableStream, failed: (error: unknown) => void): ReadableStream {
  const reader = body.getReader();
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) controller.close();
          else controller.enqueue(value);
        } catch (error) {
          failed(error);
          throw error;
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
