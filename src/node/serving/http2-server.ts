import type { Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import {
  type Http2Server,
  type IncomingStream,
  type MemoryBudget,
  serveHttp2,
} from '../../../packages/http2/index.ts';
import type { Holding, Relief, StreamFollower } from '../../../packages/http2/shared.ts';
import { retryAfterSeconds, statusResponse } from '../../apimachinery/status.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { type NodeInboundOptions, NodeInboundRequest } from '../exchange/node-inbound.ts';
import type { ResponseSink } from '../exchange/response-sink.ts';
import type { ServerLimits } from '../exchange/serving-limits.ts';
import {
  errorResponse,
  headTooLargeResponse,
  isHealthCheck,
  noConnectionLeft,
  type RequestHandlerOptions,
} from './request-handler.ts';

interface Http2ServerOptions extends NodeInboundOptions, Pick<RequestHandlerOptions, 'fetch' | 'logger'> {
  readonly limits: ServerLimits;
  readonly memory: MemoryBudget;
  readonly onRelief: (relief: Relief) => void;
  readonly identityOf: (socket: TLSSocket) => string | undefined;
  readonly isToEnd: () => boolean;
  /** The connection was taken beyond the limit, for health checks alone. */
  readonly isForProbes: (socket: TLSSocket) => boolean;
}

export function routerHttp2Server(options: Http2ServerOptions): Http2Server {
  const { fetch, clientCertificateOf, deadlines, identityOf, isForProbes, isToEnd, limits, memory } = options;
  const { logger = silentLogger, onRelief } = options;
  const inboundOptions = { clientCertificateOf, deadlines };
  return serveHttp2({
    fetch(request, { incoming }) {
      // GOAWAY; requests in flight continue (RFC 9113 section 6.8).
      if (isToEnd()) incoming.closeConnection();
      if (isForProbes(incoming.socket)) {
        incoming.closeConnection();
        const { method, target } = incoming.head;
        if (!isHealthCheck(method, target))
          return statusResponse('TooManyRequests', noConnectionLeft, { retryAfterSeconds });
      }
      return fetch(request, { inbound: new Http2Inbound(incoming, inboundOptions) });
    },
    // The router does not use the host: it decides on and forwards the request as it was received.
    host: 'localhost',
    identityOf,
    memory,
    onRelief,
    limits,
    errorHandler: (error) => errorResponse(error, logger),
    refusal(status) {
      if (status === 431) return headTooLargeResponse();
      if (status === 405) return statusResponse('MethodNotAllowed', 'CONNECT is not allowed');
      return new Response(null, { status });
    },
    onFailure(what, error) {
      const message = what === 'response' ? 'A response could not be written' : 'An HTTP/2 connection failed';
      logger.error({ error: String(error) }, message);
    },
  });
}

export class Http2Inbound extends NodeInboundRequest implements StreamFollower {
  protected readonly carrier: IncomingStream;

  constructor(incoming: IncomingStream, options: NodeInboundOptions) {
    const { method, target, headers } = incoming.head;
    super(method, target, headers, '2.0', options);
    this.carrier = incoming;
    incoming.follow(this);
  }

  /** The framing of HTTP/2 tells, not a header (RFC 9113 section 8.1). */
  get hasContent(): boolean {
    return this.carrier.hasContent;
  }

  protected get content(): Readable {
    return this.carrier.content;
  }

  /** A stream that is closed at the end of its body was reset, or has its response and needs no body any more. */
  protected get isBodyCutShort(): boolean {
    return this.carrier.isClosed;
  }

  get held(): Holding {
    return this.carrier.held;
  }

  get isClosed(): boolean {
    return this.carrier.isClosed;
  }

  responseSink(): ResponseSink {
    return this.carrier;
  }

  onResponded(): void {
    this.headers = this.carrier.head.headers;
  }

  onEnded(): void {
    this.responseIsWhole();
  }

  onClosed(): void {
    this.whole.reached();
    this.end.reached();
    // After a 401 a client must reconnect, which limits how fast it can try credentials (kubernetes#121120).
    if (this.carrier.status === 401) this.carrier.closeConnection();
  }

  protected get isResponseBegun(): boolean {
    return this.carrier.status !== undefined;
  }

  get isResponseSent(): boolean {
    return this.carrier.isResponseSent;
  }
}
