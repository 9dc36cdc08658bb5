import type { TLSSocket } from 'node:tls';
import { statusResponse } from '../../apimachinery/status.ts';
import { type Http2Server, serveHttp2 } from '../../http2/server/fetch-adapter.ts';
import { silentLogger } from '../../runtime/logger.ts';
import {
  maximumHeaderBytesOf,
  maximumHeaderLines,
  type ServerLimits,
  streamWindow,
} from '../exchange/serving-limits.ts';
import { headTooLargeResponse } from './client-error.ts';
import { errorResponse } from './fetch-listener.ts';
import { Http2Inbound } from './http2-inbound.ts';
import type { RequestHandlerOptions } from './request-handler.ts';

export interface Http2ServerOptions
  extends Pick<RequestHandlerOptions, 'fetch' | 'clientCertificateOf' | 'deadlines' | 'logger'> {
  readonly limits: ServerLimits;
  /** Whether the client presented a certificate that was verified. */
  readonly isVerified: (socket: TLSSocket) => boolean;
  /** Called for each request: whether its connection must get a GOAWAY. */
  readonly isToEnd: () => boolean;
}

/** Serves HTTP/2 with the router's fetch handler, limits and Kubernetes Status responses. */
export function routerHttp2Server(options: Http2ServerOptions): Http2Server {
  const { fetch, clientCertificateOf, deadlines, isVerified, isToEnd, logger = silentLogger } = options;
  const inboundOptions = { clientCertificateOf, deadlines };
  return serveHttp2({
    fetch(request, { incoming }) {
      // GOAWAY; requests in flight continue (RFC 9113 section 6.8).
      if (isToEnd()) incoming.closeConnection();
      return fetch(request, { inbound: new Http2Inbound(incoming, inboundOptions) });
    },
    // The router does not use the host: it decides on and forwards the request as it was received.
    host: 'localhost',
    isVerified,
    limits: {
      ...options.limits,
      streamWindow,
      maximumHeaderLines,
      maximumHeaderBytes: maximumHeaderBytesOf(false),
      maximumVerifiedHeaderBytes: maximumHeaderBytesOf(true),
    },
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
