import type { OnReadOpts } from 'node:net';
import { Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { Http2Pool, type Http2PoolOptions, type MemoryBudget } from '../../../packages/http2/index.ts';
import { defaultHttp2ServerLimits } from '../../../packages/http2/shared.ts';
import { type Destination, leadsTo, TransportError } from '../../request/destination.ts';
import { type InboundRequest, isRead } from '../../request/inbound.ts';
import type { OnResponseHead, OutboundRequest, SendResult, Transport } from '../../request/transport.ts';
import type { ConnectionEnd } from '../../servers/connection-closer.ts';
import { Deadlines } from '../exchange/deadlines.ts';
import { NodeInboundRequest } from '../exchange/node-inbound.ts';
import { LongRunningResponse, type OpenStreams } from '../exchange/open-streams.ts';
import { BodySource, BodyStream } from '../exchange/request-body.ts';
import { type ResponseSink, WebResponseSink } from '../exchange/response-sink.ts';
import { memoryForOthers } from '../exchange/serving-limits.ts';
import { Exchange } from './exchange.ts';
import { type Http1ConnectionCount, Http1Pool, type Http1PoolOptions } from './http1-pool.ts';
import { TlsDialer, type TlsDialerOptions, type TransportCredentials } from './tls-dialer.ts';

interface ConnectionEvents {
  /** Called if one broke off a response. */
  readonly onBrokenOff?: ((origin: string) => void) | undefined;
  readonly onGoAway?: ((origin: string) => void) | undefined;
  /** Called if one closed a connection without GOAWAY, or sends nothing on it any more. */
  readonly onConnectionLost?: ((origin: string) => void) | undefined;
}

function whenLost(socket: TLSSocket, onLost: () => void): void {
  let isReported = false;
  const report = (): void => {
    if (!isReported) onLost();
    isReported = true;
  };
  socket.once('end', () => {
    if (!socket.writableEnded && !socket.destroyed) report();
  });
  // Only errors of the system have `syscall`; those with which we destroy a connection have none.
  socket.once('error', (error) => {
    if ('syscall' in error) report();
  });
}

export interface NodeTransportOptions extends TlsDialerOptions, ConnectionEvents {
  /**
   * Milliseconds without progress until the head of a response; 0: no limit. Long-running requests have none. Default
   * 60,000.
   */
  readonly headTimeout?: number;
  /**
   * Milliseconds of silence after which a read without body is cancelled if another destination can be tried
   * (`OutboundRequest.othersLeft`); 0: never. Default 0. It replaces `headTimeout` for such requests.
   */
  readonly readSilence?: number;
  readonly limits?: Pick<Http2PoolOptions, 'streamsPerConnection' | 'spreadAt' | 'connections'> &
    Pick<Http1PoolOptions, 'http1Connections'>;
  readonly openStreams?: OpenStreams | undefined;
  /** For what is held for others. Default: the budget of the process. */
  readonly memory?: MemoryBudget | undefined;
  /** Opens what carries requests to one destination. Default: connections of this process. */
  readonly openPool?: OpenPool | undefined;
}

export type DestinationPool = Pick<Http2Pool, 'submit' | 'close' | 'destroy'>;

export type OpenPool = (
  destination: Destination,
  presentFrontProxyCertificate: boolean,
  events: ConnectionEvents,
  credentials: TransportCredentials,
) => DestinationPool;

interface InUse {
  readonly destination: Destination;
  readonly presentFrontProxyCertificate: boolean;
  readonly pool: DestinationPool;
}

/**
 * Sends requests to destinations from Node: HTTP/2 or HTTP/1.1 over mutual TLS. Connections with and without the
 * front-proxy certificate are never shared: with that certificate a destination trusts the X-Remote headers.
 */
export class NodeTransport implements Transport {
  readonly dialer: TlsDialer;
  readonly #options: NodeTransportOptions;
  readonly #headDeadlines: Deadlines | undefined;
  readonly #silenceDeadlines: Deadlines | undefined;
  readonly #http2Limits: NonNullable<Http2PoolOptions['limits']>;
  /** By origin. Each has few, and comparing them costs less than making a key for every request. */
  readonly #byOrigin = new Map<string, InUse[]>();
  readonly #http1InUse: Http1ConnectionCount = { open: 0 };
  /** With the destination to which each leads: their requests in flight end on them. */
  readonly #retired = new Map<DestinationPool, Destination>();
  #closed = false;

  constructor(options: NodeTransportOptions) {
    this.dialer = new TlsDialer(options);
    this.#options = options;
    this.#headDeadlines = deadlinesOf(options.headTimeout ?? 60_000);
    this.#silenceDeadlines = deadlinesOf(options.readSilence ?? 0);
    const { memory = memoryForOthers } = options;
    this.#http2Limits = {
      windowGrowth: {
        maximum: defaultHttp2ServerLimits.maximumStreamWindow,
        // Content that a server sends ahead has to be held if the client does not read.
        hasRoomFor: (bytes) => memory.hasRoomFor(bytes, true),
      },
    };
  }

  send(
    outbound: OutboundRequest,
    inbound: InboundRequest,
    onResponseHead: OnResponseHead,
  ): Promise<SendResult> {
    const source = bodySourceOf(inbound);
    if (source?.opened === true) {
      return Promise.reject(
        new TransportError('ConnectionClosed', 'a part of the request body was sent to another destination', {
          mayHaveBeenProcessed: true,
        }),
      );
    }
    const { longRunning, othersLeft, method, destination, passesThrough } = outbound;
    const isSilenceLimited = this.#silenceDeadlines !== undefined && isRead(method) && source === undefined;
    const givesUp = isSilenceLimited && !longRunning ? othersLeft : undefined;
    const usual = longRunning ? undefined : this.#headDeadlines;
    const options = {
      origin: destination.origin,
      sink: this.#sinkFor(outbound, inbound),
      deadlines: givesUp === undefined ? usual : this.#silenceDeadlines,
      givesUp,
      body: source,
      stillHolds: outbound.stillHolds,
      onBrokenOff: passesThrough === true ? undefined : this.#options.onBrokenOff,
    };
    const exchange = new Exchange(options, onResponseHead);
    // One turn of the event loop later a short body has mostly arrived, and is sent in one piece with the head.
    if (source?.isAwaited === true) setImmediate(this.#begin.bind(this, outbound, exchange, source));
    else this.#begin(outbound, exchange, source);
    return exchange.result;
  }

  #begin(outbound: OutboundRequest, exchange: Exchange, source: BodySource | undefined): void {
    if (exchange.isOver) return;
    if (this.#closed) {
      exchange.fail(new Error('the transport is closed'));
      return;
    }
    const { destination, presentFrontProxyCertificate, method, target, headers } = outbound;
    const content = source && new BodyStream(source, () => exchange.progressed());
    const pool = this.#poolTo(destination, presentFrontProxyCertificate);
    exchange.submitTo(pool, { method, target, headers, content });
  }

  #poolTo(destination: Destination, presentFrontProxyCertificate: boolean): DestinationPool {
    const atOrigin = this.#byOrigin.get(destination.origin) ?? [];
    for (const each of atOrigin) {
      const isSame = each.presentFrontProxyCertificate === presentFrontProxyCertificate;
      if (isSame && leadsTo(each.destination, destination)) return each.pool;
    }
    const pool =
      this.#options.openPool?.(
        destination,
        presentFrontProxyCertificate,
        this.#options,
        this.dialer.credentials,
      ) ?? this.#newPool(destination, presentFrontProxyCertificate);
    atOrigin.push({ destination, presentFrontProxyCertificate, pool });
    this.#byOrigin.set(destination.origin, atOrigin);
    return pool;
  }

  #newPool(destination: Destination, presentFrontProxyCertificate: boolean): Http2Pool {
    const { origin } = destination;
    const { limits, onGoAway, onConnectionLost } = this.#options;
    const http1InUse = this.#http1InUse;
    const connect = async (
      protocols: readonly ('h2' | 'http/1.1')[],
      onread?: OnReadOpts,
    ): Promise<TLSSocket> => {
      const options = { destination, presentFrontProxyCertificate, protocols, onread };
      const socket = await this.dialer.dial(options);
      whenLost(socket, () => onConnectionLost?.(origin));
      return socket;
    };
    return new Http2Pool(origin, {
      connect: (onread) => connect(['h2', 'http/1.1'], onread),
      http1: () => new Http1Pool({ origin, connect: () => connect(['http/1.1']), http1InUse, ...limits }),
      ...limits,
      settingsTimeout: this.dialer.connectTimeout,
      limits: this.#http2Limits,
      onGoAway: () => onGoAway?.(origin),
      onSilence: () => onConnectionLost?.(origin),
    });
  }

  /** Ends the connections to all others. If the CA bundle of one changes, those that were verified with the old one end, too. */
  retainDestinations(destinations: Iterable<Destination>): void {
    const inUse = [...destinations];
    this.#retire((each) => !inUse.some((destination) => leadsTo(each, destination)));
  }

  /**
   * Ends the connections to a destination; the next request opens new ones. `at-once` aborts requests in flight, those on
   * connections that credentials of before opened as well; `when-idle` lets them end. Tunnels of upgrades stay open.
   */
  endConnections(destination: Destination, how: ConnectionEnd): void {
    const isOver = (each: Destination): boolean => leadsTo(each, destination);
    if (how === 'when-idle') {
      this.#retire(isOver);
      return;
    }
    for (const { pool } of this.#takeOut(isOver)) destroy(pool);
    for (const [pool, led] of this.#retired) if (led.origin === destination.origin) destroy(pool);
  }

  /**
   * Rotates certificates: new connections use the new ones, requests in flight end on the old connections.
   * @throws if a certificate or key cannot be read; the old ones stay in use then
   */
  updateCredentials(credentials: TransportCredentials): void {
    this.dialer.update(credentials);
    this.#retire(() => true);
  }

  close(): void {
    this.#closed = true;
    this.#headDeadlines?.stop();
    this.#silenceDeadlines?.stop();
    for (const { pool } of this.#takeOut(() => true)) destroy(pool);
    for (const pool of this.#retired.keys()) destroy(pool);
  }

  #takeOut(isOver: (destination: Destination) => boolean): InUse[] {
    const over: InUse[] = [];
    for (const [origin, all] of this.#byOrigin) {
      const left = all.filter(({ destination }) => !isOver(destination));
      for (const each of all) if (!left.includes(each)) over.push(each);
      if (left.length === 0) this.#byOrigin.delete(origin);
      else this.#byOrigin.set(origin, left);
    }
    return over;
  }

  #retire(isOver: (destination: Destination) => boolean): void {
    for (const { pool, destination } of this.#takeOut(isOver)) {
      this.#retired.set(pool, destination);
      const forget = (): boolean => this.#retired.delete(pool);
      // Closing fails only if it was destroyed meanwhile.
      pool.close().then(forget, forget);
    }
  }

  #sinkFor(outbound: OutboundRequest, inbound: InboundRequest): ResponseSink {
    // Without a server (tests, libraries) the response is a web `Response`.
    if (!(inbound instanceof NodeInboundRequest)) return new WebResponseSink(inbound.signal);
    const sink = inbound.responseSink();
    const streams = this.#options.openStreams;
    return streams === undefined || !outbound.longRunning
      ? sink
      : new LongRunningResponse(sink, outbound, streams);
  }
}

function deadlinesOf(timeout: number): Deadlines | undefined {
  return timeout > 0 ? new Deadlines({ timeout }) : undefined;
}

function destroy(pool: DestinationPool): void {
  // Each of its requests gets an error. It rejects only if it was closed before.
  pool.destroy().catch(() => {});
}

const webBodySources = new WeakMap<InboundRequest, BodySource | 'none'>();

export function bodySourceOf(inbound: InboundRequest): BodySource | undefined {
  if (inbound instanceof NodeInboundRequest) return inbound.bodySource;
  let source = webBodySources.get(inbound);
  if (source === undefined) {
    const stream = inbound.body();
    source = stream === null ? 'none' : new BodySource(() => Readable.fromWeb(stream));
    webBodySources.set(inbound, source);
  }
  return source === 'none' ? undefined : source;
}
