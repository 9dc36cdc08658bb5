import type { IncomingMessage, ServerResponse } from 'node:http';
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { createServer } from 'node:https';
import type { Duplex, Writable } from 'node:stream';
import type { TestContext } from 'node:test';
import { TLSSocket, type Server as TlsServer } from 'node:tls';
import type { CertificatePair } from './certificates.ts';
import { listenOnLoopback } from './listen-on-loopback.ts';

/** A request as the API server saw it. */
export interface SeenRequest {
  readonly method: string;
  readonly target: string;
  /** name, value, name, value. */
  readonly headers: readonly string[];
  /** Common name of the client certificate, where one was presented and accepted. */
  readonly clientName: string | undefined;
}

/** What a server has been asked for so far, without what routers ask about callers of their own paths. */
interface Traffic {
  readonly requests: readonly SeenRequest[];
  /** Answers to watches, open: the test writes events. */
  readonly watches: readonly Writable[];
  /** The server's ends of tunnels. */
  readonly tunnels: readonly Duplex[];
}

export interface ApiServerDouble extends Traffic {
  readonly port: number;
  /** `https://localhost:port`. */
  readonly origin: string;
  /** Takes another serving pair or other client authorities for connections from now on. */
  use(tls: ApiServerTls): void;
  /** Breaks every connection. */
  close(): Promise<void>;
}

export type Answer = (incoming: IncomingMessage, outgoing: ServerResponse) => void;
export type SwitchProtocols = (incoming: IncomingMessage, socket: Duplex) => void;

/** One that a test tells what to answer. */
export interface Http1ApiServerDouble extends ApiServerDouble {
  /** What requests are answered with from now on. Default: 200 and the path, and watches that stay open. */
  answer: Answer;
}

interface ApiServerTls {
  readonly pair: CertificatePair;
  /** PEM; whose client certificates are accepted. */
  readonly clientAuthorities: string;
}

/**
 * Stands in for a kube-apiserver: answers all but reviews of access with 200 and the path, keeps watches open, and switches
 * protocols when it is asked to. Closed at the end of the test.
 */
export async function startApiServer(
  context: TestContext,
  protocol: 'h2' | 'http/1.1',
  tls: ApiServerTls,
): Promise<ApiServerDouble> {
  const double = await (protocol === 'h2' ? openHttp2ApiServer(tls) : openApiServer(tls));
  context.after(() => double.close());
  return double;
}

/**
 * The same over HTTP/1.1, for whoever closes it.
 *
 * @param switchProtocols what an upgrade is answered with. Default: SPDY/3.1, which sends back what it is sent
 */
export async function openApiServer(
  tls: ApiServerTls,
  switchProtocols: SwitchProtocols = echoTunnel,
): Promise<Http1ApiServerDouble> {
  const traffic = new RecordedTraffic();
  const server = createServer(
    { ...serverOptions(tls), ALPNProtocols: ['http/1.1'] },
    (incoming, outgoing) => {
      traffic.record(incoming);
      double.answer(incoming, outgoing);
    },
  );
  const double: Http1ApiServerDouble = {
    ...(await open(server, traffic, switchProtocols)),
    answer: (incoming, outgoing) => traffic.answer(incoming, outgoing),
  };
  return double;
}

async function openHttp2ApiServer(tls: ApiServerTls): Promise<ApiServerDouble> {
  const traffic = new RecordedTraffic();
  const server = createSecureServer({ ...serverOptions(tls), allowHTTP1: true }, (incoming, outgoing) => {
    traffic.record(incoming);
    traffic.answer(incoming, outgoing);
  });
  return open(server, traffic, echoTunnel);
}

async function open(
  server: TlsServer,
  traffic: RecordedTraffic,
  switchProtocols: SwitchProtocols,
): Promise<ApiServerDouble> {
  server.on('upgrade', (incoming: IncomingMessage, socket: Duplex) => {
    traffic.record(incoming);
    traffic.tunnels.push(socket);
    socket.on('error', () => socket.destroy());
    switchProtocols(incoming, socket);
  });
  const { port, stop } = await listenOnLoopback(server);
  return {
    port,
    origin: `https://localhost:${port}`,
    requests: traffic.requests,
    watches: traffic.watches,
    tunnels: traffic.tunnels,
    use: (next) => server.setSecureContext(tlsOptions(next)),
    close: stop,
  };
}

const reviews = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';

class RecordedTraffic implements Traffic {
  readonly requests: SeenRequest[] = [];
  readonly watches: Writable[] = [];
  readonly tunnels: Duplex[] = [];

  record(incoming: IncomingMessage | Http2ServerRequest): void {
    if (incoming.url === reviews) return;
    const socket = 'stream' in incoming ? incoming.stream.session?.socket : incoming.socket;
    const certificate =
      socket instanceof TLSSocket && socket.authorized ? socket.getPeerCertificate().subject?.CN : undefined;
    this.requests.push({
      method: incoming.method ?? '',
      target: incoming.url ?? '',
      headers: incoming.rawHeaders,
      clientName: typeof certificate === 'string' ? certificate : undefined,
    });
  }

  answer(
    { url: target = '', headers }: IncomingMessage | Http2ServerRequest,
    outgoing: ServerResponse | Http2ServerResponse,
  ): void {
    outgoing.setHeader('content-type', 'application/json');
    if (target === reviews) {
      // It knows no tokens, and of users whom a front proxy names it lets the sync job and monitors use routers' own paths.
      const isKnown = headers['x-remote-user'] !== undefined;
      const isMonitor = String(headers['x-remote-group']).includes('system:monitoring');
      const allowed = headers['x-remote-user'] === 'sync' || isMonitor;
      outgoing.statusCode = isKnown ? 201 : headers.authorization === undefined ? 403 : 401;
      outgoing.end(JSON.stringify({ status: { allowed } }));
      return;
    }
    outgoing.statusCode = 200;
    if (/[?&]watch=(1|true)/.test(target)) {
      this.watches.push(outgoing as Writable);
      (outgoing as Writable).write('ADDED\n');
      return;
    }
    outgoing.end(JSON.stringify({ answered: target }));
  }
}

const echoTunnel: SwitchProtocols = ({ headers }, socket) => {
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${headers.upgrade}\r\n\r\n`,
  );
  socket.pipe(socket);
};

function serverOptions(tls: ApiServerTls) {
  return { ...tlsOptions(tls), requestCert: true, rejectUnauthorized: false };
}

function tlsOptions({ pair, clientAuthorities }: ApiServerTls) {
  return { cert: pair.chain, key: pair.privateKey, ca: clientAuthorities };
}
