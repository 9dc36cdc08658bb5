import { Readable } from 'node:stream';
import type { ConnectionEnd } from '../../health/connection-closer.ts';
import { type Destination, TransportError } from '../../request/destination.ts';
import { type InboundRequest, isRead } from '../../request/inbound.ts';
import type { OnResponseHead, OutboundRequest, SendResult, Transport } from '../../request/transport.ts';
import { NodeInboundRequest } from '../exchange/node-inbound.ts';
import { LongRunningResponse, type OpenStreams } from '../exchange/open-streams.ts';
import { BodySource, BodyStream } from '../exchange/request-body.ts';
import { type ResponseSink, WebResponseSink } from '../exchange/response-sink.ts';
import {
  type ConnectionEvents,
  type ConnectionLimits,
  DestinationDispatchers,
  type DispatcherFor,
  leadsTo,
  mutualTlsDispatchers,
} from './destination-dispatchers.ts';
import { Exchange } from './exchange.ts';
import { ExchangeHandler } from './exchange-handler.ts';
import { TlsDialer, type TlsDialerOptions, type TransportCredentials } from './tls-dialer.ts';

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
  readonly limits?: Partial<ConnectionLimits>;
  /**
   * Makes the dispatcher for a destination, which is closed when the destination is out of use. It must verify the server.
   * Default: HTTP/2 or undici's HTTP/1.1 pool over mutual TLS, with `credentials`, `guard` and the time-outs above.
   */
  readonly dispatcherFor?: DispatcherFor | undefined;
  /** Has the responses to long-running requests for a shutdown. */
  readonly openStreams?: OpenStreams | undefined;
}

/**
 * Sends requests to destinations from Node: HTTP/2 or HTTP/1.1 over mutual TLS. Connections with and without the
 * front-proxy certificate are never shared: with that certificate a destination trusts the X-Remote headers.
 */
export class NodeTransport implements Transport {
  /** For upgrades, which need a connection of their own. */
  readonly dialer: TlsDialer;
  readonly #headTimeout: number;
  readonly #readSilence: number;
  readonly #openStreams: OpenStreams | undefined;
  readonly #onBrokenOff: ((origin: string) => void) | undefined;
  readonly #dispatchers: DestinationDispatchers;
  #closed = false;

  /** @throws if a certificate or key cannot be read */
  constructor(options: NodeTransportOptions) {
    this.dialer = new TlsDialer(options);
    this.#openStreams = options.openStreams;
    this.#onBrokenOff = options.onBrokenOff;
    this.#headTimeout = options.headTimeout ?? 60_000;
    this.#readSilence = options.readSilence ?? 0;
    this.#dispatchers = new DestinationDispatchers(
      options.dispatcherFor ?? mutualTlsDispatchers(this.dialer, options.limits ?? {}, options),
    );
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
    const sink = this.#sinkFor(outbound, inbound);
    const { longRunning, othersLeft, method } = outbound;
    if (longRunning) return this.exchange(outbound, sink, onResponseHead, 0, source);
    const givesUp = this.#readSilence > 0 && isRead(method) && !source ? othersLeft : undefined;
    const headTimeout = givesUp === undefined ? this.#headTimeout : this.#readSilence;
    return this.exchange(outbound, sink, onResponseHead, headTimeout, source, givesUp);
  }

  /**
   * Sends one request and writes the response to `sink`.
   * @param headTimeout milliseconds without progress until the head of the response; 0 waits for ever
   * @param givesUp called after that time; on `false` the exchange keeps waiting
   * @throws {TransportError}
   */
  exchange(
    outbound: OutboundRequest,
    sink: ResponseSink,
    onResponseHead: OnResponseHead,
    headTimeout: number,
    source?: BodySource,
    givesUp?: () => boolean,
  ): Promise<SendResult> {
    const exchange = new Exchange({
      origin: outbound.destination.origin,
      sink,
      onResponseHead,
      headTimeout,
      givesUp,
      body: source,
      onBrokenOff: outbound.passesThrough === true ? undefined : this.#onBrokenOff,
    });
    // One turn of the event loop later a short body has mostly arrived, and is sent in one piece with the head.
    if (source?.isAwaited === true) setImmediate(() => this.#begin(outbound, exchange, source));
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
    const dispatcher = this.#dispatchers.to(destination, presentFrontProxyCertificate);
    const body = source === undefined ? null : new BodyStream(source, () => exchange.progressed());
    // undici's type is not readonly, but undici does not change the lines.
    const options = { origin: destination.origin, path: target, method, headers: headers as string[], body };
    dispatcher.dispatch(options, new ExchangeHandler(exchange));
  }

  /** Closes the connections to all other origins after their requests in flight. */
  retain(origins: ReadonlySet<string>): void {
    this.#dispatchers.retireUnless(({ origin }) => origins.has(origin));
  }

  /**
   * As `retain`, and distinguishes destinations at one address: if the CA bundle of one changes, connections that were
   * verified with the old one are closed.
   */
  retainDestinations(destinations: Iterable<Destination>): void {
    const inUse = [...destinations];
    this.#dispatchers.retireUnless((each) => inUse.some((destination) => leadsTo(each, destination)));
  }

  /**
   * Ends the connections to a destination; the next request opens new ones. `at-once` aborts requests in flight,
   * `when-idle` lets them end. Tunnels of upgrades stay open.
   */
  endConnections(destination: Destination, how: ConnectionEnd): void {
    if (how === 'when-idle') this.#dispatchers.retireTo(destination);
    else this.#dispatchers.destroyTo(destination);
  }

  /**
   * Rotates certificates: new connections use the new ones, requests in flight end on the old connections.
   * @throws if a certificate or key cannot be read; the old ones stay in use then
   */
  updateCredentials(credentials: TransportCredentials): void {
    this.dialer.update(credentials);
    this.#dispatchers.retireUnless(() => false);
  }

  /** Closes all connections for good. Shut the server down first. */
  close(): void {
    this.#closed = true;
    this.#dispatchers.destroy();
  }

  #sinkFor(outbound: OutboundRequest, inbound: InboundRequest): ResponseSink {
    // Without a server (tests, libraries) the response is a web `Response`.
    if (!(inbound instanceof NodeInboundRequest)) return new WebResponseSink(inbound.signal);
    const sink = inbound.responseSink();
    const streams = this.#openStreams;
    return streams === undefined || !outbound.longRunning
      ? sink
      : new LongRunningResponse(sink, outbound, streams);
  }
}

const webBodySources = new WeakMap<InboundRequest, BodySource | 'none'>();

/** The body of a request, one and the same for all tries; `undefined` if it has none. */
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
