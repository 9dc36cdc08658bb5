import type { IncomingMessage, ServerResponse } from 'node:http';
import { getRequestListener, type HttpBindings, RequestError } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { statusResponse } from '../../apimachinery/status.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { NodeBindings, NodeInboundRequest } from '../exchange/node-inbound.ts';

export interface FetchListenerOptions {
  /** The app's `fetch`; `bindings.inbound` is the request as it stood on the wire (see `nodeInbound`). */
  readonly fetch: (request: Request, bindings: NodeBindings) => Response | Promise<Response>;
}

/** For what the adapter has no room: a table beside it costs each request a place that has to be collected. */
type InboundResponse = ServerResponse & { inbound: NodeInboundRequest };

/** Answers a request by HTTP/1.1 by the fetch handler. Rejects when the response cannot be written. */
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
      // No `await`, which would be a promise more for every request.
      return response instanceof Promise
        ? response.then((settled) => settle(settled, outgoing))
        : settle(response, outgoing);
    },
    {
      // It would cut uploads whose answer has begun; the release of unread bodies waits for the answer's end.
      autoCleanupIncoming: false,
      errorHandler: (error) => answerFailure(error, logger),
    },
  );
  return (incoming, outgoing, inbound) => {
    (outgoing as InboundResponse).inbound = inbound;
    hideFromUrl(incoming);
    return listener(incoming, outgoing);
  };
}

/** The answer to what has no place in a URL. */
function unreadableRequest(error: unknown): Response {
  return statusResponse(
    'BadRequest',
    `invalid request: ${error instanceof Error ? error.message : String(error)}`,
  );
}

/** The answer where there is none, because the handler failed. */
export function answerFailure(error: unknown, logger: Logger): Response {
  if (error instanceof RequestError) return unreadableRequest(error);
  logger.error({ error: String(error) }, 'A request failed');
  return statusResponse('InternalError', 'Internal error occurred: the request could not be handled');
}

/** A path that has a place in a URL. */
const pathOfUrl = /^\/[^\\]*$/;

/**
 * @hono/node-server builds a URL around the host and refuses a request without one (HTTP/1.0 needs none, RFC 9112
 * section 3.2: load balancers ask for /readyz like that), with one that URL parsers spell differently
 * (`[fd00:0:0::1]`), and a target that is no path of a URL. Nothing here depends on either: what is decided on and
 * passed on stays as it came, and a target is refused by the router, which counts and logs it.
 */
function hideFromUrl(incoming: IncomingMessage): void {
  incoming.headers.host = 'localhost';
  if (!pathOfUrl.test(incoming.url ?? '')) incoming.url = '/';
}

function settle(response: Response, outgoing: ServerResponse): Response {
  // For HEAD Hono hands back a new response, without the mark that says that all has been written.
  if (outgoing.headersSent) return RESPONSE_ALREADY_SENT;
  // A 400 of the router's own says that the request could be read in two ways; what follows it on the connection
  // may then be part of it, and is not read (RFC 9112 section 11.2).
  if (response.status === 400) outgoing.shouldKeepAlive = false;
  return response;
}
