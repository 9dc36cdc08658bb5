import type { TLSSocket } from 'node:tls';
import { ConnectionInbox } from '../http2/sockets/connection-inbox.ts';
import type { OutboundRequest } from '../proxy/transport.ts';
import type { Exchange } from './exchange.ts';
import { Http1ReadConnection } from './http1-read-connection.ts';
import { http1RequestHead } from './http1-request-head.ts';

export interface Http1ReadOptions {
  /** Host and port of the destination, as `Host` names it. */
  readonly authority: string;
  /** Connections at most; 0 is none. */
  readonly maximum: number;
  /** Milliseconds an idle connection is kept at least; twice that at most. */
  readonly keepAliveTimeout: number;
  /** Opens a connection on which HTTP/1.1 was agreed on, and whose bytes go to `inbox`. */
  readonly connect: (inbox: ConnectionInbox) => Promise<TLSSocket>;
}

/**
 * Reads that have to find no idle connection before another one is opened. It bounds the handshakes that a client
 * can cause by giving up reads, each of which ends its connection, to one in so many requests.
 */
const readsPerHandshake = 16;
/** Of a destination that speaks no HTTP/1.1, or is out of reach: until it is asked again. */
const readsAfterFailure = 4_096;

/**
 * Idle HTTP/1.1 connections to one destination, for short reads. Large lists take about half the CPU that they take over
 * HTTP/2, whose frames end every 16 KiB; small answers about as much (docs/performance.md).
 *
 * Never waited for: a read that finds none idle goes the other way at once, so that connections come into being
 * under load only. And reads only: behind a write that was cut off nobody knows whether it was carried out, while
 * HTTP/2 has a GOAWAY to tell (RFC 9113 section 6.8).
 */
export class Http1ReadConnections {
  readonly #options: Http1ReadOptions;
  /** The last used last, so that those that are not needed fall idle. */
  readonly #idle: Http1ReadConnection[] = [];
  readonly #open = new Set<Http1ReadConnection>();
  /** Idle since before the last sweep. */
  #unused = new Set<Http1ReadConnection>();
  #sweeper: NodeJS.Timeout | undefined;
  #missed = 0;
  #dialing = false;
  #closed = false;

  constructor(options: Http1ReadOptions) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#open.size === 0 && !this.#dialing;
  }

  /**
   * @param onUnanswered to send it another way, once, when its connection ends before an answer has begun.
   * @returns false for what is no short read, or when no connection is idle; nothing was done then.
   */
  send(outbound: OutboundRequest, exchange: Exchange, onUnanswered: () => void): boolean {
    const { method, longRunning } = outbound;
    if (longRunning || (method !== 'GET' && method !== 'HEAD')) return false;
    const connection = this.#idle.at(-1);
    if (connection === undefined) {
      this.#miss();
      return false;
    }
    const head = http1RequestHead(outbound, this.#options.authority);
    if (head === undefined) return false;
    this.#idle.pop();
    connection.send({ head, method, exchange, onUnanswered });
    return true;
  }

  /** Lets answers in progress end; then the connections close. */
  close(): void {
    this.#closed = true;
    for (const connection of [...this.#open]) connection.close();
  }

  /** Ends everything at once. */
  destroy(): void {
    this.#closed = true;
    for (const connection of [...this.#open]) connection.destroy();
  }

  #miss(): void {
    this.#missed++;
    const { maximum, connect } = this.#options;
    if (this.#missed < readsPerHandshake || this.#dialing || this.#closed || this.#open.size >= maximum) {
      return;
    }
    this.#missed = 0;
    this.#dialing = true;
    const inbox = new ConnectionInbox();
    connect(inbox).then(
      (socket) => {
        this.#dialing = false;
        if (this.#closed || socket.alpnProtocol === 'h2') socket.destroy();
        else this.#add(socket, inbox);
      },
      () => {
        this.#dialing = false;
        this.#missed = -readsAfterFailure;
      },
    );
  }

  #add(socket: TLSSocket, inbox: ConnectionInbox): void {
    const connection = new Http1ReadConnection(socket, inbox, {
      onIdle: (idle) => {
        if (this.#closed) idle.destroy();
        else this.#idle.push(idle);
      },
      onClosed: (closed) => this.#forget(closed),
    });
    this.#open.add(connection);
    this.#idle.push(connection);
    this.#sweeper ??= setInterval(() => this.#sweep(), this.#options.keepAliveTimeout).unref();
  }

  #forget(connection: Http1ReadConnection): void {
    this.#open.delete(connection);
    this.#unused.delete(connection);
    const index = this.#idle.indexOf(connection);
    if (index !== -1) this.#idle.splice(index, 1);
    if (this.#open.size > 0) return;
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
  }

  /** One timer for all: a timer each would be set anew with every request. */
  #sweep(): void {
    for (const connection of this.#unused) connection.close();
    this.#unused = new Set(this.#idle);
  }
}
