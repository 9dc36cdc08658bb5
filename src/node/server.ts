import type { IncomingMessage, ServerResponse } from 'node:http';
import { Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { getRequestListener, RequestError } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { statusAnswer, statusResponse } from '../apimachinery/status.ts';
import { type Logger, silentLogger } from '../observe/logger.ts';
import type { DirectLane } from '../proxy/direct-lane.ts';
import { answerClientError, isHttpError } from './client-error.ts';
import { limitConnections } from './connection-limit.ts';
import type { ServerObserver } from './connection-observer.ts';
import { newServer, protocolVersions, type ServerTlsOptions } from './dual-server.ts';
import {
  type ClientCertificateOf,
  type NodeBindings,
  NodeInboundRequest,
  type NodeIncoming,
  type NodeOutgoing,
} from './node-inbound.ts';
import { OneAtATime } from './one-at-a-time.ts';
import type { RequestDeadlines } from './request-deadlines.ts';
import { faultOfHead } from './request-head.ts';
import { ServerConnections } from './server-connections.ts';
import { certificateError, listenError } from './server-error.ts';
import { defaultServerLimits, type ServerLimits } from './server-limits.ts';
import { releaseUnreadBody } from './unread-body.ts';
import type { UpgradeListener } from './upgrade.ts';

export type { ServerTlsOptions } from './dual-server.ts';

export interface RouterServerOptions {
  /** The app's `fetch`; `bindings.inbound` is the request as it stood on the wire (see `nodeInbound`). */
  readonly fetch: (request: Request, bindings: NodeBindings) => Response | Promise<Response>;
  /** Takes requests for resources past `fetch`. Default: `fetch` gets every request. */
  readonly directLane?: DirectLane | undefined;
  readonly tls: ServerTlsOptions;
  readonly clientCertificateOf: ClientCertificateOf;
  /** From `upgradeListener`. Without it an upgrade request is handled as an ordinary one. */
  readonly onUpgrade?: UpgradeListener;
  readonly limits?: Partial<ServerLimits>;
  /** What ends requests that take too long. Default: nothing does. */
  readonly deadlines?: RequestDeadlines;
  /**
   * Share of the HTTP/2 requests behind which their connection gets a GOAWAY, so that clients spread anew over the
   * servers behind a load balancer (kube-apiserver's `--goaway-chance`). Default 0.
   */
  readonly goawayChance?: number;
  /** Told of connections, for metrics. Default: nobody. */
  readonly observer?: ServerObserver | undefined;
  /** In [0, 1). Default `Math.random`. */
  readonly random?: () => number;
  /** Default: logs nothing. */
  readonly logger?: Logger;
}

export interface RouterServer {
  /** @param port 0 takes a free one. @throws {ServerError} */
  listen(port: number, host: string): Promise<AddressInfo>;
  /**
   * Takes a new serving pair and new client authorities, from the next connection on. The old ones stay when
   * the new ones are unusable.
   * @throws {ServerError} `InvalidServingCertificate`
   */
  setSecureContext(tls: ServerTlsOptions): void;
  /**
   * Tells clients to go elsewhere: GOAWAY on HTTP/2, `Connection: close` on each HTTP/1.1 answer from now on.
   * @param listening whether new connections are still taken, to be told the same.
   */
  drain(listening: boolean): void;
  /**
   * Stops listening, ends the connections on which nobody waits for an answer (idle ones, half a head, no finished
   * TLS handshake), tells HTTP/2 clients to go elsewhere (GOAWAY), and waits; what is still open after `graceMilliseconds` (watches, tunnels) is cut. Resolves when every connection is closed.
   */
  close(graceMilliseconds: number): Promise<void>;
}

/**
 * One HTTPS port for HTTP/2 and HTTP/1.1 clients, with upgrades.
 * @throws {ServerError} `InvalidServingCertificate`
 */
export function createRouterServer(options: RouterServerOptions): RouterServer {
  const { tls, onUpgrade, observer, logger = silentLogger } = options;
  const limits = { ...defaultServerLimits, ...options.limits };
  const pipelines = new OneAtATime();
  const connections = new ServerConnections((socket) => pipelines.isBusy(socket));
  const handle = requestHandler(options, logger);
  const { goawayChance = 0, random = Math.random } = options;
  let draining = false;
  const server = newServer(tls, limits, (incoming, outgoing) => {
    if (incoming instanceof Http2ServerRequest) {
      // Ends the connection for what is not asked yet; what is under way on it goes on (RFC 9113 section 6.8).
      if (draining || (goawayChance > 0 && random() < goawayChance)) incoming.stream.session?.close();
      handle(incoming, outgoing);
      return;
    }
    if (draining) (outgoing as ServerResponse).shouldKeepAlive = false;
    connections.asked(incoming);
    pipelines.run(incoming, outgoing as ServerResponse, () => handle(incoming, outgoing));
  });
  limitConnections(server, limits.maxConnections, logger);
  server.on('connection', (socket) => connections.opened(socket));
  server.on('secureConnection', (socket) => {
    connections.secured(socket);
    observer?.secured(socket);
  });
  server.on('tlsClientError', (error) => observer?.handshakeFailed(error));
  server.on('session', (session) => connections.sessionOpened(session, limits.keepAliveTimeout));
  server.on('clientError', (error: Error, socket: Duplex) => {
    connections.handedOver(socket);
    if (isHttpError(error)) observer?.malformed();
    answerClientError(error, socket, pipelines.answerOn(socket));
  });
  if (onUpgrade !== undefined) {
    server.on('upgrade', (incoming: IncomingMessage, socket: Duplex, firstBytes: Buffer) => {
      connections.handedOver(socket);
      // Behind an unanswered request: its answer would end up in what follows the upgrade.
      if (pipelines.isBusy(socket)) socket.destroy();
      else onUpgrade(incoming, socket, firstBytes);
    });
  }

  return {
    listen(port, host) {
      const { promise, resolve, reject } = Promise.withResolvers<AddressInfo>();
      const failed = (error: Error): void => reject(listenError(error, host, port));
      server.once('error', failed);
      server.listen(port, host, () => {
        server.off('error', failed);
        server.on('error', (error) => logger.error({ error: error.message }, 'The server failed'));
        resolve(server.address() as AddressInfo);
      });
      return promise;
    },

    setSecureContext(next) {
      try {
        server.setSecureContext({ ...next, ...protocolVersions });
      } catch (error) {
        throw certificateError(error);
      }
    },

    drain(listening) {
      draining = true;
      if (!listening) server.close();
      connections.sayGoodbye((socket) => pipelines.answerOn(socket));
    },

    close(graceMilliseconds) {
      const { promise, resolve } = Promise.withResolvers<void>();
      // Connections that are busy now fall idle later.
      const sweep = setInterval(() => connections.endIdle(), sweepMilliseconds);
      const deadline = setTimeout(() => connections.cut(), graceMilliseconds);
      server.close(() => {
        clearInterval(sweep);
        clearTimeout(deadline);
        resolve();
      });
      connections.end();
      return promise;
    },
  };
}

const sweepMilliseconds = 100;
type RequestHandler = (incoming: NodeIncoming, outgoing: NodeOutgoing) => void;

function requestHandler(
  { fetch, directLane, clientCertificateOf, deadlines, observer }: RouterServerOptions,
  logger: Logger,
): RequestHandler {
  const inboundOf = (incoming: NodeIncoming, outgoing: NodeOutgoing): NodeInboundRequest => {
    const inbound = new NodeInboundRequest(incoming, outgoing, clientCertificateOf, deadlines);
    if (inbound.hasBody) releaseUnreadBody(incoming, outgoing);
    return inbound;
  };
  /** Answers of the router's own that came by the direct lane: one writer writes the answers of both ways. */
  const directAnswers = new WeakMap<NodeOutgoing, Response>();
  const listener = getRequestListener(
    (request, { incoming, outgoing }) => {
      const directAnswer = directAnswers.get(outgoing);
      if (directAnswer !== undefined) return settle(directAnswer, outgoing);
      const inbound = inboundOf(incoming, outgoing);
      return settle(fetch(request, { incoming, outgoing, inbound }), outgoing);
    },
    {
      // It would cut uploads whose answer has begun; `releaseUnreadBody` waits for the answer's end.
      autoCleanupIncoming: false,
      errorHandler: (error) => answerFailure(error, logger),
    },
  );
  const handleByFetch = (incoming: NodeIncoming, outgoing: NodeOutgoing): Promise<void> => {
    hideHost(incoming);
    return listener(incoming, outgoing);
  };
  const handleDirectly = async (
    lane: DirectLane,
    incoming: NodeIncoming,
    outgoing: NodeOutgoing,
  ): Promise<void> => {
    const response = await lane.handle(inboundOf(incoming, outgoing));
    if (outgoing.headersSent) return;
    directAnswers.set(outgoing, response);
    await handleByFetch(incoming, outgoing);
  };
  return (incoming, outgoing) => {
    if (incoming instanceof Http2ServerRequest) {
      endAfterUnauthorized(outgoing as Http2ServerResponse);
    } else {
      const fault = faultOfHead(incoming.httpVersion, incoming.rawHeaders);
      if (fault !== undefined) {
        observer?.malformed();
        refuseHead(outgoing as ServerResponse, fault);
        return;
      }
    }
    const handled =
      directLane?.takes(incoming.url ?? '') === true
        ? handleDirectly(directLane, incoming, outgoing)
        : handleByFetch(incoming, outgoing);
    handled.catch((error: unknown) => {
      // Whatever cannot be written ends its own stream, never the process.
      logger.error({ error: String(error) }, 'An answer could not be written');
      outgoing.destroy(error instanceof Error ? error : new Error(String(error)));
    });
  };
}

function answerFailure(error: unknown, logger: Logger): Response {
  if (error instanceof RequestError) return statusResponse('BadRequest', `invalid request: ${error.message}`);
  logger.error({ error: String(error) }, 'A request failed');
  return statusResponse('InternalError', 'Internal error occurred: the request could not be handled');
}

/**
 * @hono/node-server builds a URL around the host and refuses a request without one (HTTP/1.0 needs none, RFC 9112
 * section 3.2: load balancers ask for /readyz like that) or with one that URL parsers spell differently
 * (`[fd00:0:0::1]`). Nothing here depends on it; the lines that are decided on and passed on stay as they came.
 */
function hideHost(incoming: NodeIncoming): void {
  if (incoming instanceof Http2ServerRequest) incoming.headers[':authority'] = 'localhost';
  else incoming.headers.host = 'localhost';
}

function refuseHead(outgoing: ServerResponse, fault: string): void {
  const { code, headers, body } = statusAnswer('BadRequest', `the request is no valid HTTP: ${fault}`);
  outgoing.writeHead(code, { ...headers, connection: 'close' }).end(body);
}

async function settle(pending: Response | Promise<Response>, outgoing: NodeOutgoing): Promise<Response> {
  const response = await pending;
  // For HEAD Hono hands back a new response, without the mark that says that all has been written.
  if (outgoing.headersSent) return RESPONSE_ALREADY_SENT;
  // A 400 of the router's own says that the request could be read in two ways; what follows it on the connection
  // may then be part of it, and is not read (RFC 9112 section 11.2).
  if (response.status === 400 && !('stream' in outgoing)) outgoing.shouldKeepAlive = false;
  return response;
}

/** A client that is not let in has to connect anew for more than a batch of tries (kubernetes#121120). */
function endAfterUnauthorized(outgoing: Http2ServerResponse): void {
  const { session } = outgoing.stream;
  outgoing.once('close', () => {
    if (outgoing.statusCode === 401) session?.close();
  });
}
