import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { MemoryBudget } from '../../http2/sockets/held-bytes.ts';
import { type Logger, silentLogger } from '../../runtime/logger.ts';
import type { ServerObserver } from '../exchange/connection-observer.ts';
import { defaultServerLimits, memoryForOthers, type ServerLimits } from '../exchange/serving-limits.ts';
import { isForTunnel, type UpgradeListener } from '../upgrades/upgrade.ts';
import { isAfterLastRequest, isHttpError, refusePlainHttp, respondToClientError } from './client-error.ts';
import { HeldByHttp1 } from './held-by-http1.ts';
import { routerHttp2Server } from './http2-server.ts';
import { newHttpsServer, type ServerTlsOptions } from './https-server.ts';
import { OneAtATime } from './one-at-a-time.ts';
import { type RequestHandlerOptions, requestHandler } from './request-handler.ts';
import { limitConnections, reliefLog, ServerConnections } from './server-connections.ts';
import { listenError } from './server-error.ts';

export interface RouterServerOptions extends RequestHandlerOptions {
  readonly tls: ServerTlsOptions;
  /** From `upgradeListener`. Default: an upgrade request is handled as an ordinary one. */
  readonly onUpgrade?: UpgradeListener;
  readonly limits?: Partial<ServerLimits>;
  /** Clients are offered HTTP/1.1 only. Default false. */
  readonly disableHttp2Serving?: boolean | undefined;
  /**
   * Probability that an HTTP/2 request causes a GOAWAY, so that clients reconnect and spread over the servers behind a
   * load balancer (kube-apiserver's `--goaway-chance`). Default 0.
   */
  readonly goawayChance?: number;
  /** Bytes that may be held for others. Default: the budget of the process, a part of the memory that it may use. */
  readonly heldForOthers?: number;
  /** Is told of connections, for metrics. */
  readonly observer?: ServerObserver | undefined;
  /** In [0, 1). Default `Math.random`. */
  readonly random?: () => number;
  /** Default: logs nothing. */
  readonly logger?: Logger;
}

export interface RouterServer {
  /**
   * @param port 0: any free one
   * @throws {ServerError}
   */
  listen(port: number, host: string): Promise<AddressInfo>;
  /**
   * Uses a new serving pair and new client authorities for new connections.
   * @throws {ServerError} `InvalidServingCertificate`; the old ones stay in use then
   */
  setSecureContext(tls: ServerTlsOptions): void;
  /**
   * Stops listening, and asks clients to reconnect elsewhere: GOAWAY on HTTP/2, `Connection: close` with each further
   * HTTP/1.1 response.
   */
  drain(): void;
  /**
   * Stops listening, closes connections without a request (idle ones, partial heads, unfinished TLS handshakes), sends
   * GOAWAY to HTTP/2 clients, and waits. What is still open after `graceMilliseconds` (watches, tunnels) is destroyed.
   * Resolves when all connections are closed.
   */
  close(graceMilliseconds: number): Promise<void>;
}

/**
 * One HTTPS port for HTTP/2 and HTTP/1.1 clients, with upgrades.
 * @throws {ServerError} `InvalidServingCertificate`
 *
 * @example
 * ```ts
 * const app = createApp({ local, routingTable: receiver, transport, inbound: nodeInbound });
 * const reader = new ClientCertificateReader(readClientAuthorities({ clientCa: certificateAuthorities }));
 * const server = createRouterServer({
 *   tls: { cert, key },
 *   fetch: app.fetch,
 *   clientCertificateOf: (request) => reader.read(request),
 * });
 * const { port } = await server.listen(0, '127.0.0.1');
 * console.log(port > 0); // true
 * await server.close(1_000);
 * ```
 */
export function createRouterServer(options: RouterServerOptions): RouterServer {
  const { tls, onUpgrade, observer, logger = silentLogger } = options;
  const limits = { ...defaultServerLimits, ...options.limits };
  const pipelines = new OneAtATime();
  const connections = new ServerConnections(pipelines);
  const handle = requestHandler(options);
  const { random = Math.random } = options;
  const { goawayChance = 0 } = options;
  let draining = false;
  const { disableHttp2Serving = false, clientCertificateOf } = options;
  const isVerified = (socket: TLSSocket): boolean =>
    clientCertificateOf({ socket }).clientCertificate !== undefined;
  const memory =
    options.heldForOthers === undefined ? memoryForOthers : new MemoryBudget(options.heldForOthers);
  const logRelief = reliefLog(memory, logger);
  memory.onRelief = (relief) => {
    observer?.relieved(relief);
    logRelief(relief);
  };
  const http2 = routerHttp2Server({
    ...options,
    limits,
    memory,
    isVerified,
    isToEnd: () => goawayChance > 0 && random() < goawayChance,
  });
  const held = new HeldByHttp1(limits.heldBytesInterval);
  const { server, setSecureContext } = newHttpsServer(tls, limits, {
    isUpgrade: (incoming) => onUpgrade !== undefined && isForTunnel(incoming),
    onHttp2Connection: disableHttp2Serving ? undefined : (socket) => http2.take(socket),
    onRequest(incoming, outgoing) {
      if (draining) outgoing.shouldKeepAlive = false;
      pipelines.run(incoming, outgoing, () => handle(incoming, outgoing, held.begin(incoming, outgoing)));
    },
  });
  server.on('checkExpectation', (incoming, outgoing: ServerResponse) => {
    pipelines.run(incoming, outgoing, () => refuseExpectation(outgoing));
  });
  // On `close`, Node would cut responses that are written but not sent yet; `ServerConnections` does not.
  server.closeIdleConnections = () => connections.endIdle();
  limitConnections(server, limits.maxConnections, logger);
  server.on('connection', (socket) => connections.opened(socket));
  server.on('secureConnection', (socket) => {
    connections.secured(socket);
    if (socket.alpnProtocol !== 'h2')
      held.opened(socket, isVerified(socket) ? memory.verified : memory.others);
    observer?.secured(socket);
  });
  server.on('tlsClientError', (error, socket) => {
    observer?.handshakeFailed(error);
    refusePlainHttp(error, socket);
  });
  server.on('clientError', (error: Error, socket: Duplex) => {
    // The response to the last request ends the connection.
    if (isAfterLastRequest(error)) return;
    connections.handedOver(socket);
    if (isHttpError(error)) observer?.malformed();
    respondToClientError(error, socket, pipelines.responseOn(socket));
  });
  if (onUpgrade !== undefined) {
    server.on('upgrade', (incoming: IncomingMessage, socket: Duplex, firstBytes: Buffer) => {
      connections.handedOver(socket);
      held.left(socket as TLSSocket);
      // An earlier response is incomplete: it would be written into the upgraded protocol.
      if (pipelines.isBusy(socket)) socket.destroy();
      else onUpgrade(incoming, socket, firstBytes);
    });
  }

  return {
    listen(port, host) {
      const { promise, resolve, reject } = Promise.withResolvers<AddressInfo>();
      const failed = (error: Error): void => reject(listenError(error, host, port, '--bind-address'));
      server.once('error', failed);
      server.listen({ port, host }, () => {
        server.off('error', failed);
        server.on('error', (error) => logger.error({ error: error.message }, 'The server failed'));
        resolve(server.address() as AddressInfo);
      });
      return promise;
    },

    setSecureContext,

    drain() {
      draining = true;
      server.close();
      http2.close();
      connections.announceClose();
    },

    close(graceMilliseconds) {
      const { promise, resolve } = Promise.withResolvers<void>();
      // Connections that are busy now become idle later.
      const sweep = setInterval(() => connections.endIdle(), sweepMilliseconds);
      const deadline = setTimeout(() => connections.cut(), graceMilliseconds);
      server.close(() => {
        clearInterval(sweep);
        clearTimeout(deadline);
        resolve();
      });
      http2.close();
      connections.end();
      return promise;
    },
  };
}

const sweepMilliseconds = 100;

/**
 * After a 417 a client does not send the body that it announced (RFC 9110 section 10.1.1): its next request would be read
 * as that body. So the connection ends, as in Go's server (net/http server.go, `sendExpectationFailed`).
 */
function refuseExpectation(outgoing: ServerResponse): void {
  outgoing.writeHead(417, { connection: 'close', 'content-length': '0' }).end();
}
