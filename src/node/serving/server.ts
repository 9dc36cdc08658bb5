import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { Http2Server, MemoryBudget } from '../../../packages/http2/index.ts';
import {
  type Account,
  handleInput,
  networkOf,
  type Relief,
  resetConnection,
} from '../../../packages/http2/shared.ts';
import { defaultLogger } from '../../runtime/console-logger.ts';
import { FailureLog, type Logger } from '../../runtime/logger.ts';
import { monotonicNow } from '../../runtime/time.ts';
import { defaultServerLimits, memoryForOthers, type ServerLimits } from '../exchange/serving-limits.ts';
import { tlsFailureCause } from '../metrics/connection-metrics.ts';
import { isForTunnel, type UpgradeListener } from '../upgrades/upgrade.ts';
import { OneAtATime, ServerConnections, turnedAwayLog } from './connections.ts';
import { countHandshake } from './held-by-handshake.ts';
import { HeldByHttp1, type Http1Message } from './held-by-http1.ts';
import { HeldByKernel } from './held-by-kernel.ts';
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
  return new HttpsRouterServer(options);
}

class HttpsRouterServer implements RouterServer {
  readonly #options: RouterServerOptions;
  readonly #logger: Logger;
  readonly #limits: ServerLimits;
  readonly #memory: MemoryBudget;
  readonly #failures: FailureLog;
  readonly #logRelief: (relief: Relief) => void;
  readonly #kernel = new HeldByKernel();
  readonly #held: HeldByHttp1;
  readonly #pipelines = new OneAtATime();
  readonly #connections: ServerConnections;
  readonly #handle: ReturnType<typeof requestHandler>;
  readonly #http2: Http2Server;
  readonly #https: ReturnType<typeof newHttpsServer>;
  /** Responses that are the last ones: what came behind their requests is no HTTP. */
  readonly #last = new WeakSet<ServerResponse>();
  #isDraining = false;

  constructor(options: RouterServerOptions) {
    const { logger = defaultLogger, memory = memoryForOthers } = options;
    this.#options = options;
    this.#logger = logger;
    this.#limits = { ...defaultServerLimits, ...options.limits };
    this.#memory = memory;
    this.#failures = new FailureLog({ logger, clock: monotonicNow });
    this.#logRelief = reliefLog(this.#memory, this.#failures);
    const { heldBytesInterval, unverifiedHeaderBytes } = this.#limits;
    this.#held = new HeldByHttp1(heldBytesInterval, unverifiedHeaderBytes, this.#kernel);
    this.#connections = new ServerConnections(
      this.#pipelines,
      this.#limits,
      (socket) => this.#http2.restingSince(socket),
      turnedAwayLog(this.#failures),
    );
    this.#handle = requestHandler(options);
    this.#http2 = this.#newHttp2Server();
    this.#https = this.#newHttpsServer();
    this.#listenToConnections();
    this.#listenToErrors();
    this.#listenToUpgrades();
  }

  #newHttp2Server(): Http2Server {
    const { goawayChance = 0 } = this.#options;
    return routerHttp2Server({
      ...this.#options,
      limits: this.#limits,
      memory: this.#memory,
      onRelief: this.#onRelief,
      identityOf: (socket) => this.#identityOf(socket),
      isToEnd: () => goawayChance > 0 && Math.random() < goawayChance,
      isForProbes: (socket) => this.#connections.isForProbes(socket),
    });
  }

  #newHttpsServer(): ReturnType<typeof newHttpsServer> {
    const { tls, onUpgrade, disableHttp2Serving = false } = this.#options;
    const https = newHttpsServer(tls, this.#limits, {
      isUpgrade: (incoming) => onUpgrade !== undefined && isForTunnel(incoming),
      onHttp2Connection: disableHttp2Serving ? undefined : (socket) => this.#http2.take(socket),
      onRequest: (incoming, outgoing) => this.#onRequest(incoming, outgoing),
    });
    // On `close`, Node would cut responses that are written but not sent yet; `ServerConnections` does not.
    https.server.closeIdleConnections = () => this.#connections.endIdle();
    return https;
  }

  #identityOf(socket: TLSSocket): string | undefined {
    const { clientCertificate } = this.#options.clientCertificateOf({ socket });
    return clientCertificate && `${clientCertificate.authority} ${clientCertificate.commonName}`;
  }

  /** The budget may be that of the process: other servers are told of theirs. */
  readonly #onRelief = (relief: Relief): void => {
    this.#options.onRelief?.(relief);
    this.#logRelief(relief);
  };

  #accountOf(socket: TLSSocket): Account {
    const identity = this.#identityOf(socket);
    const account = this.#memory.account({
      name: identity ?? `address ${networkOf(socket.remoteAddress ?? '')}`,
      isVerified: identity !== undefined,
      connection: { giveUp: () => resetConnection(socket) },
      onRelief: this.#onRelief,
    });
    socket.once('close', () => account.close());
    return account;
  }

  #onRequest(incoming: Http1Message, outgoing: ServerResponse): void {
    if (this.#isDraining) outgoing.shouldKeepAlive = false;
    if (this.#connections.isForProbes(incoming.socket)) {
      outgoing.shouldKeepAlive = false;
      if (!isHealthCheck(incoming.method, incoming.url)) {
        refuseForConnections(outgoing);
        return;
      }
    }
    const run = (): void => this.#handle(incoming, outgoing, this.#held.begin(incoming, outgoing));
    this.#pipelines.run(incoming, outgoing, () => handleInput(run, undefined));
  }

  #listenToConnections(): void {
    const { server } = this.#https;
    server.on('checkExpectation', (incoming, outgoing: ServerResponse) => {
      this.#pipelines.run(incoming, outgoing, () => refuseExpectation(outgoing));
    });
    server.on('connection', (socket) => this.#connections.opened(socket));
    server.on('secureConnection', (socket) => {
      this.#connections.secured(socket);
      let made: Account | undefined;
      const account = (): Account => {
        made ??= this.#accountOf(socket);
        return made;
      };
      countHandshake(socket, account);
      this.#kernel.follow(socket, account);
      if (socket.alpnProtocol !== 'h2') this.#held.opened(socket, account());
    });
  }

  #listenToErrors(): void {
    const { server } = this.#https;
    server.on('tlsClientError', (error: Error, socket) => {
      const cause = tlsFailureCause(error);
      // Load balancers that check the port close so all day.
      if (cause !== 'closed') {
        const { remoteAddress: client } = socket;
        const fields = { cause, client, error: error.message };
        this.#failures.warn(`tls ${cause}`, fields, 'A TLS handshake of a client failed');
      }
      refusePlainHttp(error, socket);
    });
    server.on('clientError', (error: Error, socket: Duplex) => {
      // The response to the last request ends the connection.
      if (isAfterLastRequest(error)) return;
      const response = this.#pipelines.responseOn(socket);
      // A complete request is being carried out: a 400 would be taken for its response. That comes first, and is the last one.
      if (response !== undefined && this.#pipelines.isBusy(socket)) {
        if (!response.headersSent && response.req.complete) {
          response.shouldKeepAlive = false;
          this.#last.add(response);
        }
        // The parser tells of the error again with each further piece.
        if (this.#last.has(response)) return;
      }
      this.#connections.handedOver(socket);
      respondToClientError(error, socket, response);
    });
  }

  #listenToUpgrades(): void {
    const { onUpgrade } = this.#options;
    if (onUpgrade === undefined) return;
    this.#https.server.on('upgrade', (incoming: IncomingMessage, socket: Duplex, firstBytes: Buffer) => {
      // While the body of the upgrade has not arrived, `socket` is a wrapper of Node's: the connection has another name.
      const connection = incoming.socket as TLSSocket;
      this.#connections.becameTunnel(connection);
      const heldByUpgrade = this.#held.beginUpgrade(incoming);
      // An earlier response is incomplete: it would be written into the upgraded protocol.
      if (this.#pipelines.isBusy(connection)) connection.destroy();
      else if (heldByUpgrade === 'too large' || heldByUpgrade === 'no memory') {
        refuseUpgrade(socket, heldByUpgrade);
      } else onUpgrade(incoming, socket, firstBytes, heldByUpgrade);
    });
  }

  listen(port: number, host: string): Promise<AddressInfo> {
    const { server } = this.#https;
    const { promise, resolve, reject } = Promise.withResolvers<AddressInfo>();
    const failed = (error: Error): void => reject(listenError(error, host, port, '--bind-address'));
    server.once('error', failed);
    server.listen({ port, host }, () => {
      server.off('error', failed);
      server.on('error', (error) => this.#logger.error({ error: error.message }, 'The server failed'));
      resolve(server.address() as AddressInfo);
    });
    return promise;
  }

  setSecureContext(tls: ServerTlsOptions): void {
    this.#https.setSecureContext(tls);
  }

  drain(): void {
    this.#isDraining = true;
    this.#https.server.close();
    this.#http2.close();
    this.#connections.announceClose();
  }

  close(graceMilliseconds: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    // Connections that are busy now become idle later.
    const sweep = setInterval(() => this.#connections.endIdle(), sweepMilliseconds);
    const deadline = setTimeout(() => this.#connections.cut(), graceMilliseconds);
    this.#https.server.close(() => {
      clearInterval(sweep);
      clearTimeout(deadline);
      resolve();
    });
    this.#http2.close();
    this.#connections.end();
    return promise;
  }
}

const sweepMilliseconds = 100;

/**
 * After a 417 a client does not send the body that it announced (RFC 9110 section 10.1.1): its next request would be read
 * as that body. So the connection ends, as in Go's server (net/http server.go, `sendExpectationFailed`).
 */
function refuseExpectation(outgoing: ServerResponse): void {
  outgoing.writeHead(417, { connection: 'close', 'content-length': '0' }).end();
}
