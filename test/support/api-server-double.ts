import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex, Writable } from 'node:stream';
import type { TestContext } from 'node:test';
import { TLSSocket } from 'node:tls';
import type { CertificatePair } from './certificates.ts';

/** A request as the API server saw it. */
export interface SeenRequest {
  readonly method: string;
  readonly target: string;
  /** name, value, name, value. */
  readonly headers: readonly string[];
  /** Common name of the client certificate, where one was presented and accepted. */
  readonly clientName: string | undefined;
}

export interface ApiServerDouble {
  readonly port: number;
  readonly requests: readonly SeenRequest[];
  /** Answers to watches, open: the test writes events. */
  readonly watches: readonly Writable[];
  /** The server's ends of tunnels; they send back what they are sent. */
  readonly tunnels: readonly Duplex[];
  /** Takes another serving pair or other client authorities for connections from now on. */
  use(tls: ApiServerTls): void;
}

export interface ApiServerTls {
  readonly pair: CertificatePair;
  /** PEM; whose client certificates are accepted. */
  readonly clientAuthorities: string;
}

/**
 * Stands in for a kube-apiserver: answers everything with 200 and the path, keeps watches open, and switches
 * protocols when it is asked to. Closed at the end of the test.
 */
export async function startApiServer(
  context: TestContext,
  protocol: 'h2' | 'http/1.1',
  tls: ApiServerTls,
): Promise<ApiServerDouble> {
  const requests: SeenRequest[] = [];
  const watches: Writable[] = [];
  const tunnels: Duplex[] = [];
  const sockets = new Set<Socket>();
  const answer = (
    incoming: IncomingMessage | Http2ServerRequest,
    outgoing: ServerResponse | Http2ServerResponse,
  ): void => {
    requests.push(seen(incoming));
    const target = incoming.url ?? '';
    outgoing.setHeader('content-type', 'application/json');
    outgoing.statusCode = 200;
    if (/[?&]watch=(1|true)/.test(target)) {
      watches.push(outgoing as Writable);
      (outgoing as Writable).write('ADDED\n');
      return;
    }
    outgoing.end(JSON.stringify({ answered: target }));
  };
  const http1 = (incoming: IncomingMessage, outgoing: ServerResponse): void => answer(incoming, outgoing);
  const http2 = (incoming: Http2ServerRequest, outgoing: Http2ServerResponse): void =>
    answer(incoming, outgoing);
  const upgrade = (incoming: IncomingMessage, socket: Duplex): void => {
    requests.push(seen(incoming));
    tunnels.push(socket);
    socket.on('error', () => socket.destroy());
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n');
    socket.pipe(socket);
  };
  const options = { ...tlsOptions(tls), requestCert: true, rejectUnauthorized: false };
  const server =
    protocol === 'h2'
      ? createSecureServer({ ...options, allowHTTP1: true }, http2)
      : createServer({ ...options, ALPNProtocols: ['http/1.1'] }, http1);
  server.on('upgrade', upgrade);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    watches,
    tunnels,
    use: (next) => server.setSecureContext(tlsOptions(next)),
  };
}

function tlsOptions({ pair, clientAuthorities }: ApiServerTls) {
  return { cert: pair.chain, key: pair.privateKey, ca: clientAuthorities };
}

function seen(incoming: IncomingMessage | Http2ServerRequest): SeenRequest {
  const socket = 'stream' in incoming ? incoming.stream.session?.socket : incoming.socket;
  const certificate =
    socket instanceof TLSSocket && socket.authorized ? socket.getPeerCertificate().subject?.CN : undefined;
  return {
    method: incoming.method ?? '',
    target: incoming.url ?? '',
    headers: incoming.rawHeaders,
    clientName: typeof certificate === 'string' ? certificate : undefined,
  };
}
