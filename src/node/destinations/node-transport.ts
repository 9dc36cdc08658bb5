import type { ConnectionEnd } from '../../health/connection-closer.ts';
import type { InboundRequest } from '../../request/inbound.ts';
import { isRead } from '../../request/retry.ts';
import {
  type Destination,
  type OnResponseHead,
  type OutboundRequest,
  type Transport,
  TransportError,
} from '../../request/transport.ts';
import { type AnswerSink, answerSinkFor } from '../exchange/answer-sink.ts';
import { bodySourceOf } from '../exchange/body-source.ts';
import { BodyStream } from '../exchange/body-stream.ts';
import type { DialObserver } from '../exchange/connection-observer.ts';
import { LongRunningAnswer } from '../exchange/long-running-answer.ts';
import { NodeInboundRequest } from '../exchange/node-inbound.ts';
import type { OpenStreams } from '../exchange/open-streams.ts';
import type { BodySource } from '../exchange/request-body.ts';
import { DestinationDispatchers, type DispatcherFor, leadsTo } from './destination-dispatchers.ts';
import { Exchange } from './exchange.ts';
import { ExchangeHandler } from './exchange-handler.ts';
import { type ConnectionLimits, mutualTlsDispatchers } from './mutual-tls-dispatcher.ts';
import { type DialGuard, TlsDialer, type TransportCredentials } from './tls-dialer.ts';

export interface NodeTransportOptions {
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
  /**
   * Carries the requests to a destination; closed when that is out of use. It has to check who answers. Default: HTTP/2
   * or undici's HTTP/1.1 pool over mutual TLS, under `credentials`, `guard` and the time-outs above.
   */
  readonly dispatcherFor?: DispatcherFor | undefined;
  /** Told of connections, for metrics. Default: nobody. */
  readonly dialObserver?: DialObserver | undefined;
  /** Where answers to long-running requests are found when the server shuts down. Default: nowhere. */
  readonly openStreams?: OpenStreams | undefined;
  /** A destination at this origin did not bring an answer to its end. Default: nobody is told. */
  readonly onBrokenOff?: ((origin: string) => void) | undefined;
  /** A destination at this origin has ended a connection without a word. Default: nobody is told. */
  readonly onConnectionLost?: ((origin: string) => void) | undefined;
}

/**
 * Reaches destinations from Node: HTTP/2 or HTTP/1.1 over mutual TLS. Connections with and without the
 * front-proxy certificate are never shared, for the certificate is what makes a destination believe the
 * X-Remote headers.
 */
export class NodeTransport implements Transport {
  /** For upgrades, which need a connection of their own under the same rules. */
  readonly dialer: TlsDialer;
  #headTimeout: number;
  #readSilence: number;
  readonly #openStreams: OpenStreams | undefined;
  readonly #onBrokenOff: ((origin: string) => void) | undefined;
  readonly #dispatchers: DestinationDispatchers;
  #closed = false;

  /** @throws when a certificate or key cannot be read. */
  constructor(options: NodeTransportOptions) {
    const { credentials, connectTimeout = 10_000, headTimeout = 60_000, guard } = options;
    const { tlsHandshakeTimeout, dialObserver } = options;
    this.dialer = new TlsDialer(credentials, connectTimeout, guard, tlsHandshakeTimeout, dialObserver);
    this.#openStreams = options.openStreams;
    this.#onBrokenOff = options.onBrokenOff;
    this.#headTimeout = headTimeout;
    this.#readSilence = options.readSilence ?? 0;
    const { onBrokenOff, onConnectionLost, dispatcherFor } = options;
    const events = {
      onLost: (origin: string) => onConnectionLost?.(origin),
      onGoAway: (origin: string) => onBrokenOff?.(origin),
    };
    this.#dispatchers = new DestinationDispatchers(
      dispatcherFor ?? mutualTlsDispatchers(this.dialer, options.limits ?? {}, events),
    );
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
    const { destination, presentFrontProxyCertificate, method, target, headers } = outbound;
    const dispatcher = this.#dispatchers.to(destination, presentFrontProxyCertificate);
    const body = source === undefined ? null : new BodyStream(source, () => exchange.progressed());
    // undici's type wants lines that may be written to; nobody does.
    const options = { origin: destination.origin, path: target, method, headers: headers as string[], body };
    dispatcher.dispatch(options, new ExchangeHandler(exchange));
  }

  /** Closes the connections to every origin but these, once what is in flight on them has ended. */
  retain(origins: ReadonlySet<string>): void {
    this.#dispatchers.retireUnless(({ origin }) => origins.has(origin));
  }

  /**
   * As `retain`, and tells destinations at one address apart: of an APIService whose bundle has changed, the
   * connections that were checked against the old one are closed.
   */
  retainDestinations(destinations: Iterable<Destination>): void {
    const inUse = [...destinations];
    this.#dispatchers.retireUnless((each) => inUse.some((destination) => leadsTo(each, destination)));
  }

  /**
   * Ends the connections to a destination; the next request opens new ones. `at-once` cuts what is in flight,
   * `when-idle` lets it end. Tunnels of upgrades are not among them: their clients see for themselves.
   */
  endConnections(destination: Destination, how: ConnectionEnd): void {
    if (how === 'when-idle') this.#dispatchers.retireTo(destination);
    else this.#dispatchers.destroyTo(destination);
  }

  /**
   * Rotates certificates: new connections use the new ones, what is in flight ends on the old. The old ones
   * stay in use when the new ones are unusable.
   * @throws when a certificate or key cannot be read.
   */
  updateCredentials(credentials: TransportCredentials): void {
    this.dialer.update(credentials);
    this.#dispatchers.retireUnless(() => false);
  }

  /** For connections and requests from now on. Milliseconds, as in the options. */
  setTimeouts({ connect, readSilence }: { readonly connect: number; readonly readSilence: number }): void {
    this.dialer.setConnectTimeout(connect);
    this.#readSilence = readSilence;
  }

  /** Ends everything at once, and for good. Shut the server down first. */
  close(): void {
    this.#closed = true;
    this.#dispatchers.destroy();
  }

  #sinkFor(outbound: OutboundRequest, inbound: InboundRequest): AnswerSink {
    const sink = answerSinkFor(inbound);
    const streams = this.#openStreams;
    // Only a server's own clients can be told to go elsewhere.
    if (streams === undefined || !outbound.longRunning || !(inbound instanceof NodeInboundRequest))
      return sink;
    return new LongRunningAnswer(sink, outbound, streams);
  }
}
