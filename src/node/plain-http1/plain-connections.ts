import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { type Logger, silentLogger } from '../../observe/logger.ts';
import type { DirectLane } from '../../proxy/direct-lane.ts';
import type { NodeInboundOptions } from '../node-inbound.ts';
import type { ServerLimits } from '../server-limits.ts';
import { PlainConnection, type PlainConnectionHost } from './plain-connection.ts';

/** Has Node's server read a connection from here on. @param bytes what comes first */
export type ReadByNode = (socket: TLSSocket, bytes: Buffer) => void;

export interface PlainConnectionsOptions {
  readonly lane: DirectLane;
  readonly inboundOptions: NodeInboundOptions;
  readonly limits: Pick<ServerLimits, 'keepAliveTimeout' | 'headersTimeout'>;
  /** Told of the first request of each connection. */
  readonly onAsked: (socket: TLSSocket) => void;
  /** Default: logs nothing. */
  readonly logger?: Logger | undefined;
}

/** Looks at the connections in the shorter of the times that one may be silent. */
const looksUntilOver = 4;

/**
 * The HTTP/1.1 connections of one server that are read here, and how long each has been silent: one that never asks
 * anything ends as one would whose head is late, one that has been answered as one that Node's server keeps alive.
 */
export class PlainConnections implements PlainConnectionHost {
  readonly lane: DirectLane;
  readonly inboundOptions: NodeInboundOptions;
  readonly keepAliveSeconds: number;
  isDraining = false;
  readonly #onAsked: (socket: TLSSocket) => void;
  readonly #logger: Logger;
  readonly #interval: number;
  readonly #looksUntilIdle: number;
  readonly #looksUntilLate: number;
  readonly #open = new Map<PlainConnection, ReadByNode>();
  readonly #bySocket = new WeakMap<Duplex, PlainConnection>();
  looks = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: PlainConnectionsOptions) {
    const { lane, inboundOptions, limits, onAsked, logger = silentLogger } = options;
    this.lane = lane;
    this.inboundOptions = inboundOptions;
    this.keepAliveSeconds = Math.floor(limits.keepAliveTimeout / 1_000);
    this.#onAsked = onAsked;
    this.#logger = logger;
    const { keepAliveTimeout, headersTimeout } = limits;
    this.#interval = Math.min(keepAliveTimeout, headersTimeout) / looksUntilOver;
    this.#looksUntilIdle = Math.ceil(keepAliveTimeout / this.#interval) + 1;
    this.#looksUntilLate = Math.ceil(headersTimeout / this.#interval) + 1;
  }

  /** A new connection of an HTTP/1.1 client. */
  opened(socket: TLSSocket, readByNode: ReadByNode): void {
    const connection = new PlainConnection(socket, this);
    this.#open.set(connection, readByNode);
    this.#bySocket.set(socket, connection);
    this.#timer ??= setInterval(() => this.#look(), this.#interval).unref();
  }

  /** Whether a request on this connection has not been answered in full. */
  isBusy(socket: Duplex): boolean {
    return this.#bySocket.get(socket)?.isBusy === true;
  }

  asked(connection: PlainConnection): void {
    this.#onAsked(connection.socket);
  }

  closed(connection: PlainConnection): void {
    this.#open.delete(connection);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  handOver(connection: PlainConnection, bytes: Buffer): void {
    const { socket } = connection;
    const readByNode = this.#open.get(connection);
    this.closed(connection);
    this.#bySocket.delete(socket);
    readByNode?.(socket, bytes);
  }

  failed(connection: PlainConnection, error: unknown): void {
    this.#logger.error({ error: String(error) }, 'An answer could not be written');
    connection.socket.destroy();
  }

  #look(): void {
    this.looks++;
    for (const connection of this.#open.keys()) {
      const limit = connection.hasAsked ? this.#looksUntilIdle : this.#looksUntilLate;
      if (!connection.isBusy && this.looks - connection.silentSince >= limit) connection.socket.destroy();
    }
  }
}
