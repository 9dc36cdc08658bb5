import type { IncomingMessage, ServerResponse } from 'node:http';
import { getRequestListener, type HttpBindings, RequestError } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { statusResponse } from '../../apimachinery/status.ts';
import { errorMessage } from '../../runtime/error-message.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { NodeBindings, NodeInboundRequest } from '../exchange/node-inbound.ts';

export interface FetchListenerOptions {
  /** The app's `fetch`; `bindings.inbound` is the request as it was received (see `nodeInbound`). */
  readonly fetch: (request: Request, bindings: NodeBindings) => Response | Promise<Response>;
}

/** Passes the inbound request through the adapter. A `WeakMap` instead would cost garbage collection. */
type InboundResponse = ServerResponse & { inbound: NodeInboundRequest };

/** Responds to an HTTP/1.1 request with the fetch handler. Rejects if the response cannot be written. */
export type FetchListener = (
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  inbound: NodeInboundRequest,
) => Promise<void>;

export function fetchListener({ fetch }: FetchListenerOptions, logger: Logger): FetchListener {
  const listener = getRequestListener(
    (request, bindings) => {
      const { incoming, outgoing } = bindings as HttpBindings;
      const { inbound } = outgoing as InboundResponse;
      const response = fetch(request, { incoming, outgoing, inbound });
      // No `await`: another promise would cost every request.
      return response instanceof Promise
        ? response.then((settled) => settle(settled, outgoing))
        : settle(response, outgoing);
    },
    {
      // It would cut uploads after an early response. Unread bodies are released when the response ends instead.
      autoCleanupIncoming: false,
      errorHandler: (error) => errorResponse(error, logger),
    },
  );
  return (incoming, outgoing, inbound) => {
    (outgoing as InboundResponse).inbound = inbound;
    hideFromUrl(incoming);
    return listener(incoming, outgoing);
  };
}

function unreadableRequest(error: unknown): Response {
  return statusResponse('BadRequest', `invalid request: ${errorMessage(error)}`);
}

/** The response if the handler threw. */
export function errorResponse(error: unknown, logger: Logger): Response {
  if (error instanceof RequestError) return unreadableRequest(error);
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

function settle(response: Response, outgoing: ServerResponse): Response {
  // For HEAD Hono returns a copy without the mark of `RESPONSE_ALREADY_SENT`.
  if (outgoing.headersSent) return RESPONSE_ALREADY_SENT;
  // A 400 of the router means that the request is ambiguous: what follows on the connection may be a part of it, and is
  // not read (RFC 9112 section 11.2).
  if (response.status === 400) outgoing.shouldKeepAlive = false;
  return response;
}
