import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { getRequestListener, type HttpBindings, RequestError } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { statusParts, statusResponse } from '../../apimachinery/status.ts';
import type { HeldBytes } from '../../http2/sockets/held-bytes.ts';
import { announcesBody } from '../../request/inbound.ts';
import { sentElsewhere } from '../../request/transport.ts';
import { errorMessage } from '../../runtime/errors.ts';
import { type Logger, silentLogger } from '../../runtime/logger.ts';
import type { ServerObserver } from '../exchange/connection-observer.ts';
import { issueOfHead } from '../exchange/http1-request-head.ts';
import { type NodeBindings, type NodeInboundOptions, NodeInboundRequest } from '../exchange/node-inbound.ts';
import type { ResponseSink } from '../exchange/response-sink.ts';
import { Http1ResponseSink } from './http1-response-sink.ts';

export interface RequestHandlerOptions extends NodeInboundOptions {
  /** The app's `fetch`; `bindings.inbound` is the request as it was received (see `nodeInbound`). */
  readonly fetch: (request: Request, bindings: NodeBindings) => Response | Promise<Response>;
  /** Is told of connections, for metrics. */
  readonly observer?: ServerObserver | undefined;
  /** Default: logs nothing. */
  readonly logger?: Logger;
}

/** Passes the inbound request through the adapter. A `WeakMap` instead would cost garbage collection. */
type InboundResponse = ServerResponse & { inbound: Http1Inbound };

/** Handles HTTP/1.1 requests with the fetch handler. */
export function requestHandler(
  options: RequestHandlerOptions,
): (incoming: IncomingMessage, outgoing: ServerResponse, held: HeldBytes | undefined) => void {
  const { fetch, observer, logger = silentLogger } = options;
  const listener = getRequestListener(
    (request, bindings) => {
      const { incoming, outgoing } = bindings as HttpBindings;
      const { inbound } = outgoing as InboundResponse;
      const response = inbound.later ?? fetch(request, { incoming, outgoing, inbound });
      if (response === sentElsewhere) return RESPONSE_ALREADY_SENT;
      // No `await`: another promise would cost every request.
      return response instanceof Promise
        ? response.then((settled) => settle(settled, outgoing, logger))
        : settle(response, outgoing, logger);
    },
    {
      // It would cut uploads after an early response. Unread bodies are released when the response ends instead.
      autoCleanupIncoming: false,
      // Else each `Response` that was made, or derived, before is not one of the new class.
      overrideGlobalObjects: false,
      errorHandler: (error) => errorResponse(error, logger),
    },
  );
  return (incoming, outgoing, held) => {
    const issue = issueOfHead(incoming.httpVersion, incoming.rawHeaders);
    if (issue !== undefined) {
      observer?.malformed();
      refuseHead(outgoing, issue);
      return;
    }
    if (held === undefined) {
      discardUnreadBody(incoming, outgoing);
      refuseForMemory(outgoing);
      return;
    }
    const write = () => {
      listener(incoming, outgoing).catch((error: unknown) => breakOff(outgoing, error, logger));
    };
    const inbound = new Http1Inbound(incoming, outgoing, held, options, write);
    if (inbound.hasBody) discardUnreadBody(incoming, outgoing);
    (outgoing as InboundResponse).inbound = inbound;
    hideFromUrl(incoming);
    write();
  };
}

function refuseHead(outgoing: ServerResponse, issue: string): void {
  const { code, headers, body } = statusParts('BadRequest', `the request is not valid HTTP: ${issue}`);
  outgoing.writeHead(code, { ...headers, connection: 'close' }).end(body);
}

/** There is no memory for the request: the client may send it again (client-go does, for a Retry-After). */
function refuseForMemory(outgoing: ServerResponse): void {
  const { code, headers, body } = statusParts('TooManyRequests', tooMuchHeld, { retryAfterSeconds: 1 });
  outgoing.writeHead(code, headers).end(body);
}

const tooMuchHeld = 'The router has no memory for this request now, please try again later.';

/** Limits for reading the rest of an upload after its response. */
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
  outgoing.once('finish', () => {
    if (incoming.complete) return;
    let left = drainBytes;
    const timer = setTimeout(() => socket.destroy(), drainMilliseconds);
    incoming.on('data', (chunk: Buffer) => {
      left -= chunk.length;
      if (left < 0) socket.destroy();
    });
    for (const over of [incoming, socket]) over.once('close', () => clearTimeout(timer));
    incoming.resume();
  });
}

/** A request over HTTP/1.1 or 1.0. */
class Http1Inbound extends NodeInboundRequest {
  protected readonly carrier: IncomingMessage;
  readonly held: HeldBytes;
  /** A response for which the fetch handler has not waited. */
  later: Response | undefined;
  readonly #outgoing: ServerResponse;
  readonly #write: () => void;
  #hasBody: boolean | undefined;

  constructor(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    held: HeldBytes,
    options: NodeInboundOptions,
    write: () => void,
  ) {
    super(incoming.method ?? 'GET', incoming.url ?? '', incoming.rawHeaders, incoming.httpVersion, options);
    this.carrier = incoming;
    this.held = held;
    this.#outgoing = outgoing;
    this.#write = write;
  }

  /** Goes to the adapter once more, which finds a response that is there. */
  respond(response: Response): void {
    this.later = response;
    this.#write();
  }

  get hasBody(): boolean {
    this.#hasBody ??= announcesBody(this);
    return this.#hasBody;
  }

  protected get bodyStream(): Readable {
    return this.carrier;
  }

  /** Never: the parser destroys the stream of an incomplete body. */
  protected get isBodyCutShort(): boolean {
    return false;
  }

  get isClosed(): boolean {
    return this.#outgoing.destroyed;
  }

  responseSink(): ResponseSink {
    return new Http1ResponseSink(this.#outgoing, this, this.held);
  }

  protected get isResponseBegun(): boolean {
    return this.#outgoing.headersSent;
  }

  protected get isResponseSent(): boolean {
    return this.#outgoing.writableFinished;
  }

  protected onClose(listener: () => void): void {
    this.#outgoing.on('close', listener);
  }

  override expire(): void {
    // Nothing after an upload that is not complete can be read as a request.
    if (!this.carrier.complete) this.#outgoing.shouldKeepAlive = false;
    super.expire();
  }
}

/** The response if the handler threw. */
export function errorResponse(error: unknown, logger: Logger): Response {
  if (error instanceof RequestError) {
    return statusResponse('BadRequest', `invalid request: ${errorMessage(error)}`);
  }
  logger.error({ error: String(error) }, 'A request failed');
  return statusResponse('InternalError', 'Internal error occurred: the request could not be handled');
}

/** A path that a URL keeps unchanged. */
const pathOfUrl = /^\/[^\\]*$/;

/**
 * @hono/node-server makes a URL of the host. It refuses a request without a host (HTTP/1.0 needs none, RFC 9112 section
 * 3.2: load balancers ask for /readyz like that), with a host that URL parsers normalize (`[fd00:0:0::1]`), and with a
 * target that is not a URL path. The router uses neither: it decides on and forwards the request as it was received, and
 * refuses targets itself, which it counts and logs.
 */
function hideFromUrl(incoming: IncomingMessage): void {
  incoming.headers.host = 'localhost';
  if (!pathOfUrl.test(incoming.url ?? '')) incoming.url = '/';
}

function settle(response: Response, outgoing: ServerResponse, logger: Logger): Response {
  // Written by a sink, whatever stands for it here.
  if (outgoing.headersSent) return RESPONSE_ALREADY_SENT;
  // A 400 of the router means that the request is ambiguous: what follows on the connection may be a part of it, and is
  // not read (RFC 9112 section 11.2).
  if (response.status === 400) outgoing.shouldKeepAlive = false;
  const { body } = response;
  if (body === null) return response;
  return new Response(
    watched(body, (error) => breakOff(outgoing, error, logger)),
    response,
  );
}

/** A response that cannot be written ends its connection, never the process. */
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
