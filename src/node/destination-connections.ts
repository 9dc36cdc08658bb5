import type { TLSSocket } from 'node:tls';
import { Pool } from 'undici';
import type { Destination, OutboundRequest } from '../proxy/transport.ts';
import { ConnectionInbox } from './connection-inbox.ts';
import type { Exchange } from './exchange.ts';
import { headTooLarge, maximumSharedHead } from './head-size.ts';
import { exchangeOverHttp1 } from './http1-exchange.ts';
import { Http1ReadConnections } from './http1-read-connections.ts';
import { Http2Connection } from './http2-connection.ts';
import { exchangeOverHttp2, type OpenStream } from './http2-exchange.ts';
import { LargeHeadConnections } from './large-head-connections.ts';
import type { RequestBody } from './request-body.ts';
import { maximumHeaderBytes } from './server-limits.ts';
import type { TlsDialer } from './tls-dialer.ts';

export interface ConnectionLimits {
  /** HTTP/2 streams on one connection. kube-apiserver takes 100 to 250, depending on its version. */
  readonly streamsPerConnection: number;
  /** Streams on the least used HTTP/2 connection from which on another one is opened. */
  readonly spreadAt: number;
  /** HTTP/2 connections to one destination. */
  readonly http2Connections: number;
  /** HTTP/1.1 connections to one destination; a watch holds one for itself. */
  readonly http1Connections: number;
  /** HTTP/1.1 connections for short reads to a destination that is busy with them, whatever else it speaks; 0: none. */
  readonly http1ReadConnections: number;
  /** Milliseconds an idle HTTP/1.1 connection is kept; less than servers keep it, so that they do not close first. */
  readonly keepAliveTimeout: number;
}

interface Queued {
  readonly outbound: OutboundRequest;
  readonly body: RequestBody | undefined;
  readonly exchange: Exchange;
  /** Bytes, from `headSize`. */
  readonly headSize: number;
  /** A connection of `#reads` has failed it: a second one may be no better. */
  readonly unanswered?: boolean;
}

/**
 * The connections to one destination under one identity: HTTP/2 where the destination speaks it, several
 * connections, the least used first; else an HTTP/1.1 pool. Short reads take an idle HTTP/1.1 connection in front
 * of either, where there is one.
 */
export class DestinationConnections {
  readonly #destination: Destination;
  readonly #presentFrontProxyCertificate: boolean;
  readonly #dialer: TlsDialer;
  readonly #limits: ConnectionLimits;
  readonly #queue: Queued[] = [];
  #http2: Http2Connection[] = [];
  /** Take no new streams any more, but carry some that are still open. */
  readonly #draining = new Set<Http2Connection>();
  #http1: Pool | undefined;
  readonly #reads: Http1ReadConnections;
  readonly #largeHeads: LargeHeadConnections;
  readonly #retiredPools = new Set<Pool>();
  /** What ALPN agreed on for a connection that the HTTP/1.1 pool has not asked for yet. */
  #spareSocket: TLSSocket | undefined;
  #dialing = false;
  #state: 'open' | 'closing' | 'destroyed' = 'open';

  constructor(
    destination: Destination,
    presentFrontProxyCertificate: boolean,
    dialer: TlsDialer,
    limits: ConnectionLimits,
  ) {
    this.#destination = destination;
    this.#presentFrontProxyCertificate = presentFrontProxyCertificate;
    this.#dialer = dialer;
    this.#limits = limits;
    this.#reads = new Http1ReadConnections({
      authority: new URL(destination.origin).host,
      maximum: limits.http1ReadConnections,
      keepAliveTimeout: limits.keepAliveTimeout,
      connect: (inbox) => this.#connect(['http/1.1'], inbox),
    });
    this.#largeHeads = new LargeHeadConnections({
      origin: destination.origin,
      connect: (protocol, inbox) => this.#connect([protocol], inbox),
    });
  }

  get origin(): string {
    return this.#destination.origin;
  }

  /** Whether no connection is left, and none is needed. */
  get isEmpty(): boolean {
    return (
      this.#queue.length === 0 &&
      !this.#dialing &&
      this.#http2.length === 0 &&
      this.#draining.size === 0 &&
      this.#http1 === undefined &&
      this.#retiredPools.size === 0 &&
      this.#reads.isEmpty &&
      this.#largeHeads.isEmpty
    );
  }

  /** @param headSize bytes, from `headSize`. */
  send(outbound: OutboundRequest, body: RequestBody | undefined, exchange: Exchange, headSize: number): void {
    const request = { outbound, body, exchange, headSize };
    // In the pool a connection carries one request at a time anyway.
    const mayShare = headSize <= maximumSharedHead || this.#http1 !== undefined;
    if (mayShare || this.#state === 'destroyed') this.#enqueue(request);
    else this.#largeHeads.send(request);
  }

  /** Lets what is in flight end; then the connections close. What is queued is still served. */
  close(): void {
    this.#state = 'closing';
    for (const connection of [...this.#http2]) connection.close();
    this.#reads.close();
    if (this.#http1 !== undefined) this.#retire(this.#http1);
  }

  /** Ends everything at once. */
  destroy(): void {
    this.#state = 'destroyed';
    for (const connection of [...this.#http2, ...this.#draining]) connection.destroy();
    this.#reads.destroy();
    this.#largeHeads.destroy();
    const pools = this.#http1 === undefined ? this.#retiredPools : [this.#http1, ...this.#retiredPools];
    for (const pool of pools) pool.destroy().catch(() => {});
    this.#spareSocket?.destroy();
    for (const { exchange } of this.#queue.splice(0)) exchange.fail(transportClosed());
  }

  #enqueue(request: Queued): void {
    if (this.#state === 'destroyed') {
      request.exchange.fail(transportClosed());
      return;
    }
    this.#queue.push(request);
    this.#serveQueue();
  }

  #serveQueue(): void {
    while (this.#queue.length > 0) {
      const next = this.#queue.shift() as Queued;
      if (next.exchange.isOver || this.#sendNow(next)) continue;
      this.#queue.unshift(next);
      break;
    }
    if (this.#queue.length > 0 || this.#isCrowded()) this.#dial();
  }

  /** Whether another connection should be there before this one is full. */
  #isCrowded(): boolean {
    const best = this.#leastUsed();
    return this.#state === 'open' && best !== undefined && best.streams >= this.#limits.spreadAt;
  }

  /** @returns false when there is no connection with room. */
  #sendNow(request: Queued): boolean {
    const { outbound, body, exchange, headSize, unanswered = false } = request;
    if (body === undefined && !unanswered) {
      const sendAgain = (): void => this.#enqueue({ ...request, unanswered: true });
      if (this.#reads.send(outbound, exchange, sendAgain)) return true;
    }
    if (this.#http1 !== undefined) {
      exchangeOverHttp1(this.#http1, outbound, body, exchange);
      return true;
    }
    const connection = this.#leastUsed();
    if (connection === undefined) return false;
    if (headSize > connection.maximumHeadSize) {
      exchange.fail(headTooLarge(this.origin, headSize));
      return true;
    }
    try {
      const open: OpenStream = (...request) => connection.request(...request);
      exchangeOverHttp2(open, outbound, body, exchange, () => this.send(outbound, body, exchange, headSize));
    } catch (error) {
      exchange.fail(error);
    }
    return true;
  }

  #leastUsed(): Http2Connection | undefined {
    let best: Http2Connection | undefined;
    for (const connection of this.#http2) {
      if (connection.hasRoom && (best === undefined || connection.streams < best.streams)) best = connection;
    }
    return best;
  }

  /** One dial at a time: until it is through nobody knows which protocol the destination speaks. */
  #dial(): void {
    if (this.#dialing || this.#state === 'destroyed' || this.#http1 !== undefined) return;
    if (this.#http2.length >= this.#limits.http2Connections) return;
    this.#dialing = true;
    const inbox = new ConnectionInbox();
    this.#connect(['h2', 'http/1.1'], inbox).then(
      (socket) => {
        this.#dialing = false;
        if (this.#state === 'destroyed') {
          socket.destroy();
          return;
        }
        if (socket.alpnProtocol === 'h2') {
          this.#addHttp2(socket, inbox);
        } else {
          inbox.leaveTo(socket);
          this.#useHttp1(socket);
        }
        this.#serveQueue();
        // It was dialled for what had been queued before; nothing new comes.
        if (this.#state === 'closing') this.close();
      },
      (error: unknown) => {
        this.#dialing = false;
        // With other connections there, the queue waits for room on those instead.
        if (this.#http2.length > 0) return;
        for (const { exchange } of this.#queue.splice(0)) exchange.fail(error);
      },
    );
  }

  async #connect(protocols: readonly ('h2' | 'http/1.1')[], inbox?: ConnectionInbox): Promise<TLSSocket> {
    return this.#dialer.dial({
      destination: this.#destination,
      presentFrontProxyCertificate: this.#presentFrontProxyCertificate,
      protocols,
      onread: inbox?.onread,
    });
  }

  #addHttp2(socket: TLSSocket, inbox: ConnectionInbox): void {
    const { streamsPerConnection } = this.#limits;
    const connection = new Http2Connection(socket, inbox, this.#destination.origin, streamsPerConnection, {
      onRoom: () => this.#serveQueue(),
      onDraining: (gone) => {
        this.#http2 = this.#http2.filter((other) => other !== gone);
        this.#draining.add(gone);
        this.#serveQueue();
      },
      onClosed: (gone) => this.#draining.delete(gone),
    });
    this.#http2.push(connection);
  }

  #useHttp1(socket: TLSSocket): void {
    this.#spareSocket = socket;
    const { http1Connections, keepAliveTimeout } = this.#limits;
    const pool = new Pool(this.#destination.origin, {
      connections: http1Connections,
      // One request at a time on a connection: pipelined, a watch would hold up all that follow.
      pipelining: 1,
      allowH2: false,
      // undici's 300 s would end a quiet watch; the exchange has its own timer up to the head.
      bodyTimeout: 0,
      headersTimeout: 0,
      keepAliveTimeout,
      maxHeaderSize: maximumHeaderBytes,
      // undici's own connector takes the TLS name from the request's Host; ours is pinned to the destination.
      connect: (_options, callback) => {
        const spare = this.#takeSpareSocket();
        // Never at once: undici does not send what waits for a connection that is there before it returns.
        const connected = spare === undefined ? this.#connect(['http/1.1']) : Promise.resolve(spare);
        connected.then(
          (socket) => callback(null, socket),
          (error: Error) => callback(error, null),
        );
      },
    });
    pool.on('connectionError', () => {
      // It may come back as another version that speaks HTTP/2: ask again at the next request.
      if (this.#http1 === pool) this.#retire(pool);
    });
    this.#http1 = pool;
  }

  /** Takes a pool out of use; what it carries goes on to its end. */
  #retire(pool: Pool): void {
    this.#http1 = undefined;
    // The pool never knew of it, and would leave it open.
    this.#takeSpareSocket()?.destroy();
    this.#retiredPools.add(pool);
    const forget = (): boolean => this.#retiredPools.delete(pool);
    // Closing fails only for a pool that was destroyed meanwhile.
    pool.close().then(forget, forget);
  }

  #takeSpareSocket(): TLSSocket | undefined {
    const socket = this.#spareSocket;
    this.#spareSocket = undefined;
    return socket?.destroyed === false ? socket : undefined;
  }
}

function transportClosed(): Error {
  return new Error('the transport was closed');
}
