import type { Server, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { MemoryBudget, Relief } from '../../http2/sockets/held-bytes.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { OneAtATime } from './one-at-a-time.ts';

/**
 * The open connections of a server. Knows which of them can be closed without cutting off a response. Node's
 * `closeIdleConnections` keeps connections with a partial head, and those whose TLS handshake never ends.
 */
export class ServerConnections {
  readonly #pipelines: OneAtATime;
  readonly #sockets = new Set<Socket>();
  /** Those below a connection whose handshake is finished. */
  readonly #secured = new WeakSet<Socket>();
  readonly #http1 = new Set<Duplex>();
  #ending = false;

  /** @param pipelines of its HTTP/1.1 connections */
  constructor(pipelines: OneAtATime) {
    this.#pipelines = pipelines;
  }

  /** A TCP connection was opened. */
  opened(socket: Socket): void {
    if (this.#ending) {
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
  }

  /** The TLS handshake of a connection succeeded. */
  secured(socket: TLSSocket): void {
    const below = connectionBelow(socket);
    if (below !== undefined) this.#secured.add(below);
    if (socket.alpnProtocol === 'h2') return;
    this.#http1.add(socket);
    socket.once('close', () => this.#http1.delete(socket));
  }

  /** The caller will end this HTTP/1.1 connection itself. */
  handedOver(socket: Duplex): void {
    this.#http1.delete(socket);
  }

  /**
   * Closes idle HTTP/1.1 connections, and sends `Connection: close` with responses whose head was not written yet.
   */
  announceClose(): void {
    for (const socket of this.#http1) {
      const response = this.#pipelines.responseOn(socket);
      if (response?.headersSent === false) response.shouldKeepAlive = false;
    }
    // A client without a request so far may be about to send one: that response will have `Connection: close`.
    this.endIdle((socket) => this.#pipelines.responseOn(socket) !== undefined);
  }

  /** Closes idle connections, and new ones as they come. */
  end(): void {
    this.#ending = true;
    for (const socket of this.#sockets) if (!this.#secured.has(socket)) socket.destroy();
    this.endIdle();
  }

  /** Closes idle HTTP/1.1 connections, those with a partial head included. */
  endIdle(mayEnd: (socket: Duplex) => boolean = () => true): void {
    for (const socket of this.#http1) {
      if (!mayEnd(socket)) continue;
      // After an early response the upload is still read: on a TCP reset the client would lose the response.
      const isUploading = this.#pipelines.lastRequestOn(socket)?.complete === false;
      if (!this.#pipelines.isBusy(socket) && !isUploading) socket.destroy();
    }
  }

  /** Destroys all connections. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** Node keeps it on the socket; its types leave it out. */
type OverSocket = TLSSocket & { readonly _parent?: Socket | null };

/** The TCP connection below a connection of TLS. */
export function connectionBelow(socket: TLSSocket): Socket | undefined {
  return (socket as OverSocket)._parent ?? undefined;
}

/** Milliseconds between two warnings. */
const warningInterval = 10_000;

/**
 * Closes each connection beyond `maximum` at once: a load balancer then tries another router, and connected clients keep
 * the file descriptors that their requests need.
 * @param maximum 0: no limit
 */
export function limitConnections(server: Server, maximum: number, logger: Logger): void {
  let lastWarning = Number.NEGATIVE_INFINITY;
  let turnedAway = 0;
  server.on('drop', () => {
    turnedAway += 1;
    const now = performance.now();
    if (now - lastWarning < warningInterval) return;
    lastWarning = now;
    logger.warn(
      { maximum: server.maxConnections, turnedAway },
      'Connections are refused: raise the limit of open files (ulimit -n, LimitNOFILE=), or add routers',
    );
  });
  server.maxConnections = maximum > 0 ? maximum : Number.POSITIVE_INFINITY;
}

/** Says at most every so often that too many bytes are held for others. */
export function reliefLog(memory: MemoryBudget, logger: Logger): (relief: Relief) => void {
  let lastWarning = Number.NEGATIVE_INFINITY;
  const counts = { refused: 0, ended: 0 };
  return (relief) => {
    counts[relief] += 1;
    const now = performance.now();
    if (now - lastWarning < warningInterval) return;
    lastWarning = now;
    logger.warn(
      { heldBytes: memory.bytes, ...counts },
      'Too many bytes are held for clients and servers that do not go on: requests are refused, or what waits is ended. Give the router more memory, or find who sends without reading',
    );
  };
}
