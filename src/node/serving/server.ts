import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import {
  type Account,
  handleInput,
  type MemoryBudget,
  networkOf,
  type Relief,
} from '../../../packages/http2/index.ts';
import { defaultLogger } from '../../runtime/console-logger.ts';
import { FailureLog, type Logger } from '../../runtime/logger.ts';
import { defaultServerLimits, memoryForOthers, type ServerLimits } from '../exchange/serving-limits.ts';
import { tlsFailureCause } from '../metrics/connection-metrics.ts';
import { isForTunnel, type UpgradeListener } from '../upgrades/upgrade.ts';
import { OneAtATime, ServerConnections, turnedAwayLog } from './connections.ts';
import { countHandshake } from './held-by-handshake.ts';
import { HeldByHttp1 } from './held-by-http1.ts';
import { HeldByKernel, resetConnection } from './held-by-kernel.ts';
import { routerHttp2Server } from './http2-server.ts';
import { newHttpsServer, type ServerTlsOptions } from './https-server.ts';
import {
  isAfterLastRequest,
  isHealthCheck,
  type RequestHandlerOptions,
  refuseForConnections,
  refusePlainHttp,
  refuseUpgrade,
  requestHandler,
  respondToClientError,
} from './request-handler.ts';
import { listenError } from './server-error.ts';

function reliefLog(memory: MemoryBudget, failures: FailureLog): (relief: Relief) => void {
  const counts = { refused: 0, ended: 0 };
  return (relief) => {
    counts[relief] += 1;
    failures.warn(
      'memory',
      { heldBytes: memory.bytes, ...counts },
      'Too much memory is held for clients and servers that make no progress: requests are refused, or the oldest end. Give the router more memory, or find who sends without reading',
    );
  };
}

export interface RouterServerOptions extends RequestHandlerOptions {
  readonly tls: ServerTlsOptions;
  /** From `upgradeListener`. Default: an upgrade request is handled as an ordinary one. */
  readonly onUpgrade?: UpgradeListener;
  readonly limits?: Partial<ServerLimits>;
  readonly disableHttp2Serving?: boolean | undefined;
  /**
   * Probability that an HTTP/2 request causes a GOAWAY, so that clients reconnect and spread over the servers behind a
   * load balancer (kube-apiserver's `--goaway-chance`). Default 0.
   */
  readonly goawayChance?: number;
  /** For what is held for others. Default: the budget of the process, a part of the memory that it may use. */
  readonly memory?: MemoryBudget;
  /** Is told what was done because too many bytes are held. */
  readonly onRelief?: ((relief: Relief) => void) | undefined;
  readonly logger?: Logger;
}

export interface RouterServer {
  /**
   * @param port 0: any free one
   * @throws {ServerError}
   */
  listen(port: number, host: string): Promise<AddressInfo>;
  /** For new connections. @throws {ServerError} `InvalidServingCertificate`; the old ones stay in use then */
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
  const { tls, onUpgrade, logger = defaultLogger, memory = memoryForOthers } = options;
  const limits = { ...defaultServerLimits, ...options.limits };
  const pipelines = new OneAtATime();
  const handle = requestHandler(options);
  const { goawayChance = 0 } = options;
  let draining = false;
  const { disableHttp2Serving = false, clientCertificateOf } = options;
  const identityOf = (socket: TLSSocket): string | undefined => {
    const { clientCertificate } = clientCertificateOf({ socket });
    return clientCertificate && `${clientCertificate.authority} ${clientCertificate.commonName}`;
  };
  const failures = new FailureLog({ logger, clock: () => performance.now() });
  const logRelief = reliefLog(memory, failures);
  // The budget may be that of the process: other servers are told of theirs.
  const onRelief = (relief: Relief): void => {
    options.onRelief?.(relief);
    logRelief(relief);
  };
  const http2 = routerHttp2Server({
    ...options,
    limits,
    memory,
    onRelief,
    identityOf,
    isToEnd: () => goawayChance > 0 && Math.random() < goawayChance,
    isForProbes: (socket) => connections.isForProbes(socket),
  });
  const accountOf = (socket: TLSSocket): Account => {
    const identity = identityOf(socket);
    const account = memory.account({
      name: identity ?? `address ${networkOf(socket.remoteAddress ?? '')}`,
      isVerified: identity !== undefined,
      connection: { giveUp: () => resetConnection(socket) },
      onRelief,
    });
    socket.once('close', () => account.close());
    return account;
  };
  const kernel = new HeldByKernel();
  const held = new HeldByHttp1(limits.heldBytesInterval, limits.unverifiedHeaderBytes, kernel);
  const { server, setSecureContext } = newHttpsServer(tls, limits, {
    isUpgrade: (incoming) => onUpgrade !== undefined && isForTunnel(incoming),
    onHttp2Connection: disableHttp2Serving ? undefined : (socket) => http2.take(socket),
    onRequest(incoming, outgoing) {
      if (draining) outgoing.shouldKeepAlive = false;
      if (connections.isForProbes(incoming.socket)) {
        outgoing.shouldKeepAlive = false;
        if (!isHealthCheck(incoming.method, incoming.url)) {
          refuseForConnections(outgoing);
          return;
        }
      }
      const run = (): void => handle(incoming, outgoing, held.begin(incoming, outgoing));
      pipelines.run(incoming, outgoing, () => handleInput(run, undefined));
    },
  });
  const connections = new ServerConnections(
    pipelines,
    limits,
    (socket) => http2.restingSince(socket),
    turnedAwayLog(failures),
  );
  server.on('checkExpectation', (incoming, outgoing: ServerResponse) => {
    pipelines.run(incoming, outgoing, () => refuseExpectation(outgoing));
  });
  // On `close`, Node would cut responses that are written but not sent yet; `ServerConnections` does not.
  server.closeIdleConnections = () => connections.endIdle();
  server.on('connection', (socket) => connections.opened(socket));
  server.on('secureConnection', (socket) => {
    connections.secured(socket);
    let made: Account | undefined;
    const account = (): Account => {
      made ??= accountOf(socket);
      return made;
    };
    countHandshake(socket, account);
    kernel.follow(socket, account);
    if (socket.alpnProtocol !== 'h2') held.opened(socket, account());
  });
  server.on('tlsClientError', (error: Error, socket) => {
    const cause = tlsFailureCause(error);
    // Load balancers that check the port close so all day.
    if (cause !== 'closed') {
      const { remoteAddress: client } = socket;
      const fields = { cause, client, error: error.message };
      failures.warn(`tls ${cause}`, fields, 'A TLS handshake of a client failed');
    }
    refusePlainHttp(error, socket);
  });
  /** Responses that are the last ones: what came behind their requests is no HTTP. */
  const last = new WeakSet<ServerResponse>();
  server.on('clientError', (error: Error, socket: Duplex) => {
    // The response to the last request ends the connection.
    if (isAfterLastRequest(error)) return;
    const response = pipelines.responseOn(socket);
    // A complete request is being carried out: a 400 would be taken for its response. That comes first, and is the last one.
    if (response !== undefined && pipelines.isBusy(socket)) {
      if (!response.headersSent && response.req.complete) {
        response.shouldKeepAlive = false;
        last.add(response);
      }
      // The parser tells of the error again with each further piece.
      if (last.has(response)) return;
    }
    connections.handedOver(socket);
    respondToClientError(error, socket, response);
  });
  if (onUpgrade !== undefined) {
    server.on('upgrade', (incoming: IncomingMessage, socket: Duplex, firstBytes: Buffer) => {
      // While the body of the upgrade has not arrived, `socket` is a wrapper of Node's: the connection has another name.
      const connection = incoming.socket as TLSSocket;
      connections.becameTunnel(connection);
      const heldByUpgrade = held.beginUpgrade(incoming);
      // An earlier response is incomplete: it would be written into the upgraded protocol.
      if (pipelines.isBusy(connection)) connection.destroy();
      else if (heldByUpgrade === 'too large' || heldByUpgrade === 'no memory') {
        refuseUpgrade(socket, heldByUpgrade);
      } else onUpgrade(incoming, socket, firstBytes, heldByUpgrade);
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
