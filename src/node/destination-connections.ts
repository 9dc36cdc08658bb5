import type { TLSSocket } from 'node:tls';
import { ConnectionInbox } from '../http2/sockets/connection-inbox.ts';
import { type Destination, isSameTrust, type OutboundRequest } from '../proxy/transport.ts';
import type { Exchange } from './exchange.ts';
import { headTooLarge, maximumSharedHead } from './head-size.ts';
import { exchangeOverHttp1 } from './http1-exchange.ts';
import { Http1Pools } from './http1-pools.ts';
import { Http1ReadConnections } from './http1-read-connections.ts';
import { Http2Connection } from './http2-connection.ts';
import { exchangeOverHttp2, type OpenStream } from './http2-exchange.ts';
import { LargeHeadConnections } from './large-head-connections.ts';
import type { RequestBody } from './request-body.ts';
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

/** What a destination does with its connections. */
export interface ConnectionEvents {
  /** It has ended one without a word. */
  onLost(): void;
  /** It says that it will end one. */
  onGoAway(): void;
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
  readonly #events: ConnectionEvents | undefined;
  readonly #queue: Queued[] = [];
  #http2: Http2Connection[] = [];
  /** Take no new streams any more, but carry some that are still open. */
  readonly #draining = new Set<Http2Connection>();
  readonly #http1: Http1Pools;
  readonly #reads: Http1ReadConnections;
  readonly #largeHeads: LargeHeadConnections;
  #dialing = false;
  /** Its settings are awaited. */
  #opening: Http2Connection | undefined;
  #state: 'open' | 'closing' | 'destroyed' = 'open';

  constructor(
    destination: Destination,
    presentFrontProxyCertificate: boolean,
    dialer: TlsDialer,
    limits: ConnectionLimits,
    events?: ConnectionEvents,
  ) {
    this.#destination = destination;
    this.#presentFrontProxyCertificate = presentFrontProxyCertificate;
    this.#dialer = dialer;
    this.#limits = limits;
    this.#events = events;
    this.#http1 = new Http1Pools({
      origin: destination.origin,
      connections: limits.http1Connections,
      keepAliveTimeout: limits.keepAliveTimeout,
      connect: () => this.#connect(['http/1.1']),
    });
    this.#reads = new Http1ReadConnections({
      authority: new URL(destination.origin).host,
      maximum: limits.http1ReadConnections,
      keepAliveTimeout: limits.keepAliveTimeout,
      connect: (inbox) => this.#connect(['http/1.1'], inbox),
    });
    this.#largeHeads = new LargeHeadConnections({
      origin: destination.origin,
      connect: (protocol, inbox) => this.#connect([protocol], inbox),
      settingsTimeout: () => this.#dialer.connectTimeout,
    });
  }

  get origin(): string {
    return this.#destination.origin;
  }

  /** Whether they lead to a server in the way that a request for it has to take: to its place, under its name and trust. */
  leadTo({ origin, serverName, trust }: Destination): boolean {
    const own = this.#destination;
    return own.origin === origin && own.serverName === serverName && isSameTrust(own.trust, trust);
  }

  /** Whether a request may go on them. Never on those with the certificate where it must go without, nor the other way. */
  mayCarry(destination: Destination, withCertificate: boolean): boolean {
    return this.#presentFrontProxyCertificate === withCertificate && this.leadTo(destination);
  }

  /** Whether no connection is left, and none is needed. */
  get isEmpty(): boolean {
    return (
      this.#queue.length === 0 &&
      !this.#dialing &&
      this.#http2.length === 0 &&
      this.#draining.size === 0 &&
      this.#http1.isEmpty &&
      this.#reads.isEmpty &&
      this.#largeHeads.isEmpty
    );
  }

  /** @param headSize bytes, from `headSize`. */
  send(outbound: OutboundRequest, body: RequestBody | undefined, exchange: Exchange, headSize: number): void {
    const request = { outbound, body, exchange, headSize };
    // In the pool a connection carries one request at a time anyway.
    const mayShare = headSize <= maximumSharedHead || this.#http1.pool !== undefined;
    if (mayShare || this.#state === 'destroyed') this.#enqueue(request);
    else this.#largeHeads.send(request);
  }

  /** Lets what is in flight end; then the connections close. What is queued is still served. */
  close(): void {
    this.#state = 'closing';
    for (const connection of [...this.#http2]) connection.close();
    this.#reads.close();
    this.#http1.retire();
  }

  /** Ends everything at once. */
  destroy(): void {
    this.#state = 'destroyed';
    for (const connection of [...this.#http2, ...this.#draining]) connection.destroy();
    this.#opening?.destroy();
    this.#reads.destroy();
    this.#largeHeads.destroy();
    this.#http1.destroy();
    for (const { exchange } of this.#queue.splice(0)) exchange.fail(transportClosed());
  }

  #enqueue(request: Queued): void {
    if (this.#state === 'destroyed') {
      request.exchange.fail(transportClosed());
      return;
    }
    if (this.#queue.length > 0) {
      this.#queue.push(request);
      this.#serveQueue();
      return;
    }
    if (!this.#isDone(request)) this.#queue.push(request);
    this.#dialIfShort();
  }

  /** Sends it, if somebody still waits for an answer. @returns false when it has to wait for a connection. */
  #isDone(request: Queued): boolean {
    return request.exchange.isOver || this.#sendNow(request);
  }

  #serveQueue(): void {
    while (this.#queue.length > 0) {
      const next = this.#queue.shift() as Queued;
      if (this.#isDone(next)) continue;
      this.#queue.unshift(next);
      break;
    }
    this.#dialIfShort();
  }

  #dialIfShort(): void {
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
    const pool = this.#http1.pool;
    if (pool !== undefined) {
      exchangeOverHttp1(pool, outbound, body, exchange);
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
    if (this.#dialing || this.#state === 'destroyed' || this.#http1.pool !== undefined) return;
    if (this.#http2.length >= this.#limits.http2Connections) return;
    this.#dialing = true;
    this.#open().then(
      () => {
        this.#dialing = false;
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

  /** Opens one more connection, of the protocol that the destination prefers. @throws what kept it from that */
  async #open(): Promise<void> {
    const inbox = new ConnectionInbox();
    const socket = await this.#connect(['h2', 'http/1.1'], inbox);
    if (this.#state === 'destroyed') {
      socket.destroy();
    } else if (socket.alpnProtocol === 'h2') {
      await this.#openHttp2(socket, inbox);
    } else {
      inbox.leaveTo(socket);
      this.#http1.open(socket);
    }
  }

  async #connect(protocols: readonly ('h2' | 'http/1.1')[], inbox?: ConnectionInbox): Promise<TLSSocket> {
    const socket = await this.#dialer.dial({
      destination: this.#destination,
      presentFrontProxyCertificate: this.#presentFrontProxyCertificate,
      protocols,
      onread: inbox?.onread,
    });
    const events = this.#events;
    if (events !== undefined) whenLost(socket, () => events.onLost());
    return socket;
  }

  async #openHttp2(socket: TLSSocket, inbox: ConnectionInbox): Promise<void> {
    const connection = new Http2Connection({
      ...{ socket, inbox, origin: this.origin },
      maximumStreams: this.#limits.streamsPerConnection,
      events: {
        onRoom: () => this.#serveQueue(),
        onGoAway: () => this.#events?.onGoAway(),
        onDraining: (gone) => {
          this.#http2 = this.#http2.filter((other) => other !== gone);
          this.#draining.add(gone);
          this.#serveQueue();
        },
        onClosed: (gone) => this.#draining.delete(gone),
      },
    });
    this.#opening = connection;
    try {
      await connection.ready(this.#dialer.connectTimeout);
    } finally {
      this.#opening = undefined;
    }
    this.#http2.push(connection);
  }
}

/** Calls back when the other side ends a connection that this side has not ended, or the network does. */
function whenLost(socket: TLSSocket, onLost: () => void): void {
  let isTold = false;
  const tell = (): void => {
    if (!isTold) onLost();
    isTold = true;
  };
  socket.once('end', () => {
    if (!socket.writableEnded && !socket.destroyed) tell();
  });
  // The system's errors name the call that failed; what this side destroys a connection with does not.
  socket.once('error', (error) => {
    if ('syscall' in error) tell();
  });
}

function transportClosed(): Error {
  return new Error('the transport was closed');
}
