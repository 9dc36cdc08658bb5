import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  Http2ServerRequest,
  Http2ServerResponse,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import { statusAnswer } from '../apimachinery/status.ts';
import { type Logger, silentLogger } from '../observe/logger.ts';
import type { DirectLane } from '../proxy/direct-lane.ts';
import type { ServerObserver } from './connection-observer.ts';
import {
  answerFailure,
  type FetchListener,
  type FetchListenerOptions,
  fetchListener,
  unreadableRequest,
} from './fetch-listener.ts';
import { Http1Inbound } from './http1-inbound.ts';
import { Http2Inbound } from './http2-inbound.ts';
import { destroyClosedUpload } from './http2-reset-upload.ts';
import type { StreamInbound } from './http2-server/stream-inbound.ts';
import { webRequestOf } from './http2-server/web-request.ts';
import type { ClientCertificateOf, NodeInboundOptions, NodeIncoming, NodeOutgoing } from './node-inbound.ts';
import type { RequestDeadlines } from './request-deadlines.ts';
import { faultOfHead } from './request-head.ts';
import { releaseUnreadHttp1Body, releaseUnreadHttp2Body } from './unread-body.ts';

export interface RequestHandlerOptions extends FetchListenerOptions {
  /** Takes requests for resources past `fetch`. Default: `fetch` gets every request. */
  readonly directLane?: DirectLane | undefined;
  readonly clientCertificateOf: ClientCertificateOf;
  /** What ends requests that take too long. Default: nothing does. */
  readonly deadlines?: RequestDeadlines;
  /** Told of connections, for metrics. Default: nobody. */
  readonly observer?: ServerObserver | undefined;
  /** Default: logs nothing. */
  readonly logger?: Logger;
}

/** Hands each request to the direct lane or to the fetch handler, and has their answers written. */
export class RequestHandler {
  readonly #lane: DirectLane | undefined;
  readonly #inboundOptions: NodeInboundOptions;
  readonly #observer: ServerObserver | undefined;
  readonly #logger: Logger;
  readonly #fetchListener: FetchListener;
  readonly #fetch: FetchListenerOptions['fetch'];

  constructor(options: RequestHandlerOptions) {
    const { directLane, clientCertificateOf, deadlines, observer, logger = silentLogger } = options;
    this.#lane = directLane;
    this.#inboundOptions = { clientCertificateOf, deadlines };
    this.#observer = observer;
    this.#logger = logger;
    this.#fetchListener = fetchListener(options, logger);
    this.#fetch = options.fetch;
  }

  /**
   * A request by HTTP/2, before Node has built its compatibility objects.
   * @param onClosed called when the stream is over; not, when it is not taken.
   * @returns whether it goes by the direct lane; else `handle` is to get it.
   */
  takeStream(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    rawHeaders: readonly string[],
    onClosed: () => void,
  ): boolean {
    const lane = this.#lane;
    const { ':path': target = '', ':method': method = 'GET', expect } = headers;
    // Node itself answers CONNECT, and what a client expects (RFC 9110 sections 9.3.6 and 10.1.1).
    if (lane === undefined || expect !== undefined || method === 'CONNECT' || !lane.takes(target))
      return false;
    // A stream that fails must not find nobody listening: that would end the process. Who works on it sees its end.
    stream.on('error', ignore);
    const inbound = new Http2Inbound(stream, { method, target, rawHeaders }, this.#inboundOptions);
    inbound.onFinished(onClosed);
    if (inbound.hasBody) lookAfterHttp2Body(stream);
    this.#answer(stream, lane.handle(inbound), (response) => {
      if (stream.headersSent || inbound.isClosed) return undefined;
      const incoming = new Http2ServerRequest(stream, headers, {}, rawHeaders);
      return this.#fetchListener(incoming, new Http2ServerResponse(stream), inbound, response);
    });
    return true;
  }

  /** A request by HTTP/2 whose frames are read here. */
  handleStream(inbound: StreamInbound): void {
    const answer =
      this.#lane?.takes(inbound.target) === true ? this.#lane.handle(inbound) : this.#ask(inbound);
    const failed = (error: unknown): void => {
      this.#logger.error({ error: String(error) }, 'An answer could not be written');
      inbound.breakOff();
    };
    // One promise where each `await` more would cost every request.
    answer.then((response) => {
      if (inbound.awaitsAnswer) inbound.answerWith(response).catch(failed);
    }, failed);
  }

  async #ask(inbound: StreamInbound): Promise<Response> {
    let request: Request;
    try {
      request = webRequestOf(inbound);
    } catch (error) {
      return unreadableRequest(error);
    }
    try {
      return await this.#fetch(request, { inbound });
    } catch (error) {
      return answerFailure(error, this.#logger);
    }
  }

  /** A request by HTTP/1.1, or by HTTP/2 through Node's compatibility objects. */
  handle(incoming: NodeIncoming, outgoing: NodeOutgoing): void {
    const inbound =
      incoming instanceof Http2ServerRequest
        ? this.#http2Inbound(incoming)
        : this.#http1Inbound(incoming, outgoing as ServerResponse);
    if (inbound === undefined) return;
    if (this.#lane?.takes(inbound.target) === true) {
      this.#answer(outgoing, this.#lane.handle(inbound), (response) =>
        outgoing.headersSent ? undefined : this.#fetchListener(incoming, outgoing, inbound, response),
      );
    } else {
      this.#fetchListener(incoming, outgoing, inbound).catch((error: unknown) =>
        this.#unwritten(outgoing, error),
      );
    }
  }

  /**
   * Behind the direct lane, by one promise where each `await` more would cost every request.
   * @param write writes what is not written yet: an answer of the router's own.
   */
  #answer(
    stream: NodeOutgoing | ServerHttp2Stream,
    answer: Promise<Response>,
    write: (response: Response) => Promise<void> | undefined,
  ): void {
    const failed = (error: unknown): void => this.#unwritten(stream, error);
    answer.then((response) => {
      // Thrown from here, an error would be nobody's, and end the process.
      try {
        write(response)?.catch(failed);
      } catch (error) {
        failed(error);
      }
    }, failed);
  }

  #http2Inbound({ stream, rawHeaders, method, url }: Http2ServerRequest): Http2Inbound {
    const inbound = new Http2Inbound(stream, { method, target: url, rawHeaders }, this.#inboundOptions);
    if (inbound.hasBody) lookAfterHttp2Body(stream);
    return inbound;
  }

  /** @returns `undefined` for a head that was refused. */
  #http1Inbound(incoming: IncomingMessage, outgoing: ServerResponse): Http1Inbound | undefined {
    const fault = faultOfHead(incoming.httpVersion, incoming.rawHeaders);
    if (fault !== undefined) {
      this.#observer?.malformed();
      refuseHead(outgoing, fault);
      return undefined;
    }
    const inbound = new Http1Inbound(incoming, outgoing, this.#inboundOptions);
    if (inbound.hasBody) releaseUnreadHttp1Body(incoming, outgoing);
    return inbound;
  }

  /** Whatever cannot be written ends its own stream, never the process. */
  #unwritten(stream: NodeOutgoing | ServerHttp2Stream, error: unknown): void {
    this.#logger.error({ error: String(error) }, 'An answer could not be written');
    stream.destroy(error instanceof Error ? error : new Error(String(error)));
  }
}

const ignore = (): void => {};

function lookAfterHttp2Body(stream: ServerHttp2Stream): void {
  releaseUnreadHttp2Body(stream);
  destroyClosedUpload(stream);
}

function refuseHead(outgoing: ServerResponse, fault: string): void {
  const { code, headers, body } = statusAnswer('BadRequest', `the request is no valid HTTP: ${fault}`);
  outgoing.writeHead(code, { ...headers, connection: 'close' }).end(body);
}
