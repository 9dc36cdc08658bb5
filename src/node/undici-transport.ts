import type { ConnectionEnd } from '../proxy/health/connection-closer.ts';
import type { InboundRequest } from '../proxy/inbound.ts';
import { isRead } from '../proxy/retry.ts';
import {
  type Destination,
  type OnResponseHead,
  type OutboundRequest,
  type Transport,
  TransportError,
} from '../proxy/transport.ts';
import { type AnswerSink, answerSinkFor } from './answer-sink.ts';
import { bodySourceOf } from './body-source.ts';
import type { DialObserver } from './connection-observer.ts';
import { type ConnectionLimits, DestinationConnections } from './destination-connections.ts';
import { Exchange } from './exchange.ts';
import { headSize } from './head-size.ts';
import { LongRunningAnswer } from './long-running-answer.ts';
import { NodeInboundRequest } from './node-inbound.ts';
import type { OpenStreams } from './open-streams.ts';
import { type BodySource, RequestBody } from './request-body.ts';
import { type DialGuard, TlsDialer, type TransportCredentials } from './tls-dialer.ts';

export interface UndiciTransportOptions {
  readonly credentials: TransportCredentials;
  /** Milliseconds for name resolution, TCP and TLS. Default 10,000. */
  readonly connectTimeout?: number;
  /** Milliseconds for the TLS handshake alone, from the TCP connection on. Default: within `connectTimeout`. */
  readonly tlsHandshakeTimeout?: number;
  /** Which addresses may be dialled. Default: every one. */
  readonly guard?: DialGuard;
  /**
   * Milliseconds without progress until the head of an answer, 0 for as long as it takes; long-running requests
   * have no such limit. Default 60,000.
   */
  readonly headTimeout?: number;
  /**
   * Milliseconds of silence after which a bodiless read is given up if another destination could be asked for it
   * (`OutboundRequest.othersLeft`); 0: never. Default 0. Where it applies `headTimeout` does not.
   */
  readonly readSilence?: number;
  readonly limits?: Partial<ConnectionLimits>;
  /** Told of connections, for metrics. Default: nobody. */
  readonly dialObserver?: DialObserver | undefined;
  /** Where answers to long-running requests are found when the server shuts down. Default: nowhere. */
  readonly openStreams?: OpenStreams | undefined;
  /** A destination at this origin did not bring an answer to its end. Default: nobody is told. */
  readonly onBrokenOff?: ((origin: string) => void) | undefined;
  /** A destination at this origin has ended a connection without a word. Default: nobody is told. */
  readonly onConnectionLost?: ((origin: string) => void) | undefined;
}

const defaultLimits: ConnectionLimits = {
  streamsPerConnection: 100,
  spreadAt: 32,
  http2Connections: 256,
  http1Connections: 4_096,
  http1ReadConnections: 64,
  keepAliveTimeout: 30_000,
};

/**
 * Reaches destinations from Node: HTTP/2 or HTTP/1.1 over mutual TLS. Connections with and without the
 * front-proxy certificate are never shared, for the certificate is what makes a destination believe the
 * X-Remote headers.
 */
export class UndiciTransport implements Transport {
  /** For upgrades, which need a connection of their own under the same rules. */
  readonly dialer: TlsDialer;
  #headTimeout: number;
  #readSilence: number;
  readonly #limits: ConnectionLimits;
  readonly #openStreams: OpenStreams | undefined;
  readonly #onBrokenOff: ((origin: string) => void) | undefined;
  readonly #onConnectionLost: ((origin: string) => void) | undefined;
  /** By origin, under which there are few: looking at each costs less than to make a key for every request. */
  readonly #connections = new Map<string, DestinationConnections[]>();
  /** Out of use, but some of their requests have not ended yet. */
  #retired: DestinationConnections[] = [];
  #closed = false;

  /** @throws when a certificate or key cannot be read. */
  constructor(options: UndiciTransportOptions) {
    const { credentials, connectTimeout = 10_000, headTimeout = 60_000, limits, guard } = options;
    const { tlsHandshakeTimeout, dialObserver } = options;
    this.dialer = new TlsDialer(credentials, connectTimeout, guard, tlsHandshakeTimeout, dialObserver);
    this.#openStreams = options.openStreams;
    this.#onBrokenOff = options.onBrokenOff;
    this.#onConnectionLost = options.onConnectionLost;
    this.#headTimeout = headTimeout;
    this.#readSilence = options.readSilence ?? 0;
    this.#limits = { ...defaultLimits, ...limits };
  }

  send(
    outbound: OutboundRequest,
    inbound: InboundRequest,
    onResponseHead: OnResponseHead,
  ): Promise<Response> {
    const source = bodySourceOf(inbound);
    if (source?.opened === true) {
      return Promise.reject(
        new TransportError('ConnectionClosed', 'part of the request body went to another destination', {
          requestMayHaveArrived: true,
        }),
      );
    }
    const sink = this.#sinkFor(outbound, inbound);
    const { longRunning, othersLeft, method } = outbound;
    if (longRunning) return this.exchange(outbound, sink, onResponseHead, 0, source);
    const isPatient = this.#readSilence > 0 && othersLeft !== undefined && isRead(method) && !source;
    return isPatient
      ? this.exchange(outbound, sink, onResponseHead, this.#readSilence, source, othersLeft)
      : this.exchange(outbound, sink, onResponseHead, this.#headTimeout, source);
  }

  /**
   * Sends one request and hands the answer to `sink`.
   * @param headTimeout milliseconds without progress until the head of the answer; 0 waits for ever.
   * @param givesUp asked when they are over; on `false` waiting goes on.
   * @throws {TransportError}
   */
  exchange(
    outbound: OutboundRequest,
    sink: AnswerSink,
    onResponseHead: OnResponseHead,
    headTimeout: number,
    source?: BodySource,
    givesUp?: () => boolean,
  ): Promise<Response> {
    const exchange = new Exchange({
      origin: outbound.destination.origin,
      sink,
      onResponseHead,
      headTimeout,
      givesUp,
      bodyOpened: () => source?.opened === true,
      onBrokenOff: this.#onBrokenOff,
    });
    // A turn of the event loop later a short body is mostly here, and goes in one piece with the head.
    if (source?.isAwaited === true) setImmediate(() => this.#begin(outbound, exchange, source));
    else this.#begin(outbound, exchange, source);
    return exchange.response;
  }

  #begin(outbound: OutboundRequest, exchange: Exchange, source: BodySource | undefined): void {
    if (exchange.isOver) return;
    if (this.#closed) {
      exchange.fail(new Error('the transport is closed'));
      return;
    }
    const body = source === undefined ? undefined : new RequestBody(source, () => exchange.progressed());
    this.#connectionsFor(outbound).send(outbound, body, exchange, headSize(outbound));
  }

  /** Closes the connections to every origin but these, once what is in flight on them has ended. */
  retain(origins: ReadonlySet<string>): void {
    this.#retireUnless((connections) => origins.has(connections.origin));
  }

  /**
   * As `retain`, and tells destinations at one address apart: of an APIService whose bundle has changed, the
   * connections that were checked against the old one are closed.
   */
  retainDestinations(destinations: Iterable<Destination>): void {
    const inUse = [...destinations];
    this.#retireUnless((connections) => inUse.some((destination) => connections.leadTo(destination)));
  }

  /**
   * Ends the connections to a destination; the next request opens new ones. `at-once` cuts what is in flight,
   * `when-idle` lets it end. Tunnels of upgrades are not among them: their clients see for themselves.
   */
  endConnections(destination: Destination, how: ConnectionEnd): void {
    const ended = this.#takeOut((connections) => connections.leadTo(destination));
    for (const connections of ended) {
      if (how === 'when-idle') this.#retire(connections);
      else connections.destroy();
    }
  }

  #retireUnless(inUse: (connections: DestinationConnections) => boolean): void {
    for (const connections of this.#takeOut((each) => !inUse(each))) this.#retire(connections);
    this.#retired = this.#retired.filter((connections) => !connections.isEmpty);
  }

  /** @returns those that are not for new requests any more. */
  #takeOut(isOver: (connections: DestinationConnections) => boolean): DestinationConnections[] {
    const over: DestinationConnections[] = [];
    for (const [origin, all] of this.#connections) {
      const left: DestinationConnections[] = [];
      for (const connections of all) (isOver(connections) ? over : left).push(connections);
      if (left.length === 0) this.#connections.delete(origin);
      else this.#connections.set(origin, left);
    }
    return over;
  }

  /**
   * Rotates certificates: new connections use the new ones, what is in flight ends on the old. The old ones
   * stay in use when the new ones are unusable.
   * @throws when a certificate or key cannot be read.
   */
  updateCredentials(credentials: TransportCredentials): void {
    this.dialer.update(credentials);
    for (const connections of this.#takeOut(() => true)) this.#retire(connections);
  }

  /** For connections and requests from now on. Milliseconds, as in the options. */
  setTimeouts({ connect, readSilence }: { readonly connect: number; readonly readSilence: number }): void {
    this.dialer.setConnectTimeout(connect);
    this.#readSilence = readSilence;
  }

  /** Ends everything at once, and for good. Shut the server down first. */
  close(): void {
    this.#closed = true;
    for (const connections of [...this.#takeOut(() => true), ...this.#retired]) connections.destroy();
    this.#retired = [];
  }

  #sinkFor(outbound: OutboundRequest, inbound: InboundRequest): AnswerSink {
    const sink = answerSinkFor(inbound);
    const streams = this.#openStreams;
    // Only a server's own clients can be told to go elsewhere.
    if (streams === undefined || !outbound.longRunning || !(inbound instanceof NodeInboundRequest))
      return sink;
    return new LongRunningAnswer(sink, outbound.isWatch === true, streams);
  }

  #connectionsFor({ destination, presentFrontProxyCertificate }: OutboundRequest): DestinationConnections {
    const atOrigin = this.#connections.get(destination.origin);
    const known = atOrigin?.find((each) => each.mayCarry(destination, presentFrontProxyCertificate));
    if (known !== undefined) return known;
    const connections = new DestinationConnections(
      destination,
      presentFrontProxyCertificate,
      this.dialer,
      this.#limits,
      {
        onLost: () => this.#onConnectionLost?.(destination.origin),
        onGoAway: () => this.#onBrokenOff?.(destination.origin),
      },
    );
    if (atOrigin === undefined) this.#connections.set(destination.origin, [connections]);
    else atOrigin.push(connections);
    return connections;
  }

  #retire(connections: DestinationConnections): void {
    connections.close();
    this.#retired.push(connections);
  }
}
