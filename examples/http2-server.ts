/** A Hono app over HTTP/2: no router and no Kubernetes, only the adapter for fetch handlers (packages/http2/README.md). */
import { createServer, type Server, type TlsOptions } from 'node:tls';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono } from 'hono';
// In a program of your own: from 'mixed-version-proxy/node'.
import { type Http2Bindings, type Http2Server, serveHttp2 } from '../src/node/index.ts';

export function createGreeter() {
  const app = new Hono<{ Bindings: Http2Bindings }>();
  app.get('/hello/:name', (context) => context.text(`hello ${context.req.param('name')}`));
  // Bytes that come go back, piece by piece, as fast as the client takes them.
  app.post('/echo', (context) => new Response(context.req.raw.body));
  // For who needs the stream itself: its header lines one by one, its socket, and the way back for the answer.
  app.get('/lines', ({ env: { incoming } }) => {
    // Before the response: behind its head the lines of the request are not kept.
    const lines = JSON.stringify(incoming.head.headers);
    incoming.respond(200, ['content-type', 'application/json']);
    incoming.write(Buffer.from(lines));
    incoming.end();
    return RESPONSE_ALREADY_SENT;
  });
  return app;
}

/** @param tls the serving pair; Node finishes handshakes, and hands over connections on which HTTP/2 was agreed on. */
export function createGreeterServer(tls: Required<Pick<TlsOptions, 'cert' | 'key'>>): {
  readonly server: Server;
  readonly http2: Http2Server;
} {
  const http2 = serveHttp2({
    fetch: createGreeter().fetch,
    limits: { maxConcurrentStreams: 250 },
    onFailure: (what, error) => process.emitWarning(`an HTTP/2 ${what} failed: ${error}`),
  });
  const server = createServer({ ...tls, ALPNProtocols: ['h2'] }, (socket) => http2.take(socket));
  return { server, http2 };
}
