import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { type Logger, silentLogger } from '../../runtime/logger.ts';
import type { ServerObserver } from '../exchange/connection-observer.ts';
import { defaultServerLimits, maximumHeaderBytesOf, type ServerLimits } from '../exchange/serving-limits.ts';
import type { UpgradeListener } from '../upgrades/upgrade.ts';
import { answerClientError, isBehindTheLast, isHttpError } from './client-error.ts';
import { limitConnections } from './connection-limit.ts';
import { routerHttp2Server } from './http2-server.ts';
import { newHttpsServer, type ServerTlsOptions, secureContextOf } from './https-server.ts';
import { OneAtATime } from './one-at-a-time.ts';
import { RequestHandler, type RequestHandlerOptions } from './request-handler.ts';
import { ServerConnections } from './server-connections.ts';
import { certificateError, listenError } from './server-error.ts';
import { UnfinishedHttp1Heads } from './unfinished-http1-heads.ts';

export type { ServerTlsOptions } from './https-server.ts';

export interface RouterServerOptions extends RequestHandlerOptions {
  readonly tls: ServerTlsOptions;
  /** From `upgradeListener`. Without it an upgrade request is handled as an ordinary one. */
  readonly onUpgrade?: UpgradeListener;
  readonly limits?: Partial<ServerLimits>;
  /** Clients are offered HTTP/1.1 only. Default false. */
  readonly disableHttp2Serving?: boolean | undefined;
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

/** What can change while the server runs. */
export interface ChangeableServerLimits {
  /** As `RouterServerOptions.goawayChance`. */
  readonly goawayChance: number;
  /** As `ServerLimits.maxConnections`. */
  readonly maxConnections: number;
}

export interface RouterServer {
  /**
   * @param port 0 takes a free one.
   * @param reusePort whether other processes may listen there as well, if they say the same. Default false.
   * @throws {ServerError}
   */
  listen(port: number, host: string, reusePort?: boolean): Promise<AddressInfo>;
  /**
   * Takes a new serving pair and new client authorities, from the next connection on. The old ones stay when
   * the new ones are unusable.
   * @throws {ServerError} `InvalidServingCertificate`
   */
  setSecureContext(tls: ServerTlsOptions): void;
  /** Takes other limits into use, for connections and requests from now on. */
  configure(limits: ChangeableServerLimits): void;
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
 *
 * @example
 * ```ts
 * const app = createApp({ serverId, local, routingTable: receiver, transport, inbound: nodeInbound });
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
  const connections = new ServerConnections((socket) => pipelines.isBusy(socket));
  const handler = new RequestHandler(options);
  const { random = Math.random } = options;
  let { goawayChance = 0 } = options;
  let draining = false;
  const { disableHttp2Serving = false, clientCertificateOf } = options;
  const isVerified = (socket: TLSSocket): boolean =>
    clientCertificateOf({ socket }).clientCertificate !== undefined;
  const http2 = routerHttp2Server({
    ...options,
    limits,
    isVerified,
    isToEnd: () => goawayChance > 0 && random() < goawayChance,
  });
  const unfinishedHeads = new UnfinishedHttp1Heads({
    maximumBytes: limits.maximumUnfinishedHeads,
    maximumHead: maximumHeaderBytesOf(false),
    interval: limits.unfinishedHeadsInterval,
    isBusy: (socket) => pipelines.isBusy(socket),
  });
  const server = newHttpsServer(tls, limits, {
    isVerified,
    onHttp2Connection: disableHttp2Serving ? undefined : (socket) => http2.take(socket),
    onRequest(incoming, outgoing) {
      if (draining) outgoing.shouldKeepAlive = false;
      connections.asked(incoming.socket, incoming);
      const socket = incoming.socket as TLSSocket;
      if (unfinishedHeads.counts(socket)) outgoing.once('close', () => unfinishedHeads.answered(socket));
      pipelines.run(incoming, outgoing, () => handler.handle(incoming, outgoing));
    },
  });
  server.on('checkExpectation', (incoming: IncomingMessage, outgoing: ServerResponse) => {
    connections.asked(incoming.socket, incoming);
    pipelines.run(incoming, outgoing, () => refuseExpectation(outgoing));
  });
  // On `close`, Node would cut answers that it has in full and their clients have not: `ServerConnections` knows.
  server.closeIdleConnections = () => connections.endIdle();
  const connectionLimit = limitConnections(server, limits.maxConnections, logger);
  server.on('connection', (socket) => connections.opened(socket));
  server.on('secureConnection', (socket) => {
    connections.secured(socket);
    if (socket.alpnProtocol !== 'h2' && !isVerified(socket)) unfinishedHeads.opened(socket);
    observer?.secured(socket);
  });
  server.on('tlsClientError', (error) => observer?.handshakeFailed(error));
  server.on('clientError', (error: Error, socket: Duplex) => {
    // The answer to that request ends the connection.
    if (isBehindTheLast(error)) return;
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
    listen(port, host, reusePort = false) {
      const { promise, resolve, reject } = Promise.withResolvers<AddressInfo>();
      const failed = (error: Error): void => reject(listenError(error, host, port));
      server.once('error', failed);
      server.listen({ port, host, reusePort }, () => {
        server.off('error', failed);
        server.on('error', (error) => logger.error({ error: error.message }, 'The server failed'));
        resolve(server.address() as AddressInfo);
      });
      return promise;
    },

    setSecureContext(next) {
      try {
        server.setSecureContext(secureContextOf(next));
      } catch (error) {
        throw certificateError(error);
      }
    },

    configure(changed) {
      goawayChance = changed.goawayChance;
      connectionLimit.set(changed.maxConnections);
    },

    drain(listening) {
      draining = true;
      if (!listening) server.close();
      http2.close();
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
      http2.close();
      connections.end();
      return promise;
    },
  };
}

const sweepMilliseconds = 100;

/**
 * A client that is told so sends no body (RFC 9110 section 10.1.1): what it sends next would be taken for the one that
 * it has announced. So the connection ends, as Go's server ends it (net/http server.go, `sendExpectationFailed`).
 */
function refuseExpectation(outgoing: ServerResponse): void {
  outgoing.writeHead(417, { connection: 'close', 'content-length': '0' }).end();
}
