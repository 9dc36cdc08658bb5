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
import { answerFailure } from './fetch-listener.ts';
import { StreamInbound } from './http2-stream-inbound.ts';
import type { RequestHandlerOptions } from './request-handler.ts';

export interface Http2ServerOptions
  extends Pick<RequestHandlerOptions, 'fetch' | 'clientCertificateOf' | 'deadlines' | 'logger'> {
  readonly limits: ServerLimits;
  /** Whether the client has shown a certificate that was verified. */
  readonly isVerified: (socket: TLSSocket) => boolean;
  /** Whether a connection that a request has come on is to take no more. */
  readonly isToEnd: () => boolean;
}

/** Hands each request by HTTP/2 to the fetch handler, as the router wants it: the adapter knows nothing of Kubernetes. */
export function routerHttp2Server(options: Http2ServerOptions): Http2Server {
  const { fetch, clientCertificateOf, deadlines, isVerified, isToEnd, logger = silentLogger } = options;
  const inboundOptions = { clientCertificateOf, deadlines };
  return serveHttp2({
    fetch(request, { incoming }) {
      // Ends the connection for what is not asked yet; what is under way on it goes on (RFC 9113 section 6.8).
      if (isToEnd()) incoming.closeConnection();
      return fetch(request, { inbound: new StreamInbound(incoming, inboundOptions) });
    },
    // What is decided on and passed on is the request as it came: its host is none of ours to know.
    host: 'localhost',
    isVerified,
    limits: {
      ...options.limits,
      streamWindow,
      maximumHeaderLines,
      maximumHeaderBytes: maximumHeaderBytesOf(false),
      maximumVerifiedHeaderBytes: maximumHeaderBytesOf(true),
    },
    errorHandler: (error) => answerFailure(error, logger),
    refusal(status) {
      if (status === 431) return headTooLargeResponse();
      if (status === 405) return statusResponse('MethodNotAllowed', 'CONNECT is not allowed');
      return new Response(null, { status });
    },
    onFailure(what, error) {
      const message = what === 'answer' ? 'An answer could not be written' : 'An HTTP/2 connection failed';
      logger.error({ error: String(error) }, message);
    },
  });
}
