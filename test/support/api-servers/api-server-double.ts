import type { IncomingMessage, ServerResponse } from 'node:http';
import { createSecureServer, Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { createServer } from 'node:https';
import type { Duplex } from 'node:stream';
import type { TestContext } from 'node:test';
import { TLSSocket } from 'node:tls';
import { allHeaders, firstHeader, type RawHeaders } from '../../../src/apimachinery/raw-headers.ts';
import type { CertificatePair } from '../certificates.ts';
import { eventually } from '../eventually.ts';
import { listenOnLoopback } from '../listen-on-loopback.ts';

export type Protocol = 'h2' | 'http/1.1';
export const protocols: readonly Protocol[] = ['http/1.1', 'h2'];

/** Request that a server got. */
export interface ReceivedRequest {
  readonly method: string;
  readonly target: string;
  /** As they stood on the wire, without HTTP/2's pseudo headers. */
  readonly headers: RawHeaders;
  /** Common name of the client certificate; `undefined` when none was presented, or accepted. */
  readonly clientCertificate: string | undefined;
  /** So far, as a byte string. */
  body: string;
  /** The body came to its end. */
  complete: boolean;
  /** The connection or stream ended before the answer. */
  aborted: boolean;
}

export interface Outgoing extends NodeJS.EventEmitter {
  setHeader(name: string, value: string | readonly string[]): unknown;
  writeHead(status: number, headers?: Readonly<Record<string, string>>): unknown;
  write(chunk: string | Buffer): unknown;
  end(chunk?: string | Buffer): unknown;
}

/** Called once the body is in. */
export type Answer = (outgoing: Outgoing, request: ReceivedRequest) => void;
/** Answers an upgrade request on its bare socket. */
export type AnswerUpgrade = (socket: Duplex, request: ReceivedRequest) => void;

interface ApiServerTls {
  readonly pair: CertificatePair;
  /** PEM; whose client certificates are accepted. */
  readonly clientAuthorities: string;
}

/** Under which name a router asks on its own account. */
export const routerItself = 'system:mixed-version-proxy';
const ownRequest = new RegExp(
  `GET \\S+ HTTP/1\\.1\\r\\n(?:[^\\r\\n]+\\r\\n)*?X-Remote-User: ${routerItself}\\r\\n(?:[^\\r\\n]+\\r\\n)*\\r\\n`,
  'g',
);
export const reviewsPath = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';

/** A TLS server on loopback that stands in for a kube-apiserver: it writes down all it gets, and answers as it is told. */
export class ApiServerDouble {
  readonly id: string;
  /** Requests that clients sent. */
  readonly requests: ReceivedRequest[] = [];
  /** Requests on the router's own account, for health and documents; answered with 404. */
  readonly ownRequests: ReceivedRequest[] = [];
  /** Reviews that the router asks for: whether callers may use its own paths. */
  readonly reviews: ReceivedRequest[] = [];
  /** Answers to watches, open: the test writes events. */
  readonly watches: Outgoing[] = [];
  /**
   * Users and groups whom its RBAC lets use the router's own paths. It knows no tokens, and anonymous callers may not
   * even ask.
   */
  lets: readonly string[] = [];
  port = 0;
  /** Accepted so far. */
  connections = 0;
  /** Can be changed while it runs. Default: 200 and its ID; watches begin with an event and stay open. */
  answer: Answer = (outgoing, { target }) => {
    outgoing.setHeader('content-type', 'application/json');
    if (!/[?&]watch=(1|true)/.test(target)) {
      outgoing.end(JSON.stringify({ answeredBy: this.id }));
      return;
    }
    this.watches.push(outgoing);
    outgoing.write('ADDED\n');
  };
  /** Default: 101, and then every byte back in upper case. */
  answerUpgrade: AnswerUpgrade = answerWithEcho;
  /** Takes another serving pair or other client authorities for connections from now on. */
  use: (tls: ApiServerTls) => void = () => {};
  /** Breaks every connection. */
  close: () => Promise<void> = async () => {};
  #bytes = '';

  constructor(id: string) {
    this.id = id;
  }

  /** All that clients sent over HTTP/1.1, every connection in order of arrival, as a byte string. */
  get bytes(): string {
    return this.#bytes.replace(ownRequest, '');
  }

  keep(chunk: Buffer): void {
    this.#bytes += chunk.toString('latin1');
  }

  get origin(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  /** The one request it got. @throws unless there is exactly one. */
  only(): ReceivedRequest {
    const [request] = this.requests;
    if (request === undefined || this.requests.length > 1) {
      throw new Error(`${this.id} got ${this.requests.length} requests, not one`);
    }
    return request;
  }

  /** Forgets what it got. */
  clear(): void {
    this.requests.length = 0;
    this.reviews.length = 0;
    this.#bytes = '';
  }

  /** Waits for the first request. */
  async first(): Promise<ReceivedRequest> {
    await eventually(() => this.requests.length > 0);
    return this.only();
  }
}

/** Stopped at the end of the test. */
export async function startApiServer(
  context: TestContext,
  id: string,
  protocol: Protocol,
  tls: ApiServerTls,
): Promise<ApiServerDouble> {
  const double = await openApiServer(id, protocol, tls);
  context.after(double.close);
  return double;
}

/** The same for whoever closes it. */
export async function openApiServer(
  id: string,
  protocol: Protocol,
  tls: ApiServerTls,
): Promise<ApiServerDouble> {
  const double = new ApiServerDouble(id);
  const receive = (incoming: IncomingMessage | Http2ServerRequest, outgoing: Outgoing): ReceivedRequest => {
    const request = take(double, incoming);
    incoming.on('data', (chunk: Buffer) => {
      request.body += chunk.toString('latin1');
    });
    incoming.on('end', () => {
      // A reset ends an HTTP/2 stream for Node, too, and `complete` says nothing about it.
      request.complete =
        incoming instanceof Http2ServerRequest ? incoming.stream.rstCode === 0 : incoming.complete;
      if (isOwn(request)) {
        outgoing.writeHead(404);
        outgoing.end();
      } else if (request.target === reviewsPath) {
        answerReview(double, outgoing, request);
      } else if (request.complete) {
        double.answer(outgoing, request);
      }
    });
    // A client that resets or vanishes is what many tests are about.
    incoming.on('error', () => {});
    return request;
  };
  const options = { ...tlsOptions(tls), requestCert: true, rejectUnauthorized: false };
  const server =
    protocol === 'h2'
      ? createSecureServer(
          {
            ...options,
            allowHTTP1: true,
            maxHeaderListPairs: 5_000,
            settings: { maxHeaderListSize: 1024 * 1024 },
          },
          (incoming: Http2ServerRequest, outgoing: Http2ServerResponse) => {
            outgoing.on('error', () => {});
            watchForAbort(receive(incoming, outgoing as Outgoing), outgoing.stream ?? outgoing, outgoing);
          },
        )
      : createServer(
          { ...options, ALPNProtocols: ['http/1.1'], maxHeaderSize: 1024 * 1024 },
          (incoming: IncomingMessage, outgoing: ServerResponse) => {
            watchForAbort(receive(incoming, outgoing), outgoing, outgoing);
          },
        );
  if ('maxHeadersCount' in server) server.maxHeadersCount = 5_000;
  server.on('secureConnection', (socket: TLSSocket) => {
    if (socket.alpnProtocol !== 'h2') socket.on('data', (chunk: Buffer) => double.keep(chunk));
  });
  server.on('upgrade', (incoming: IncomingMessage, socket: Duplex) => {
    socket.on('error', () => {});
    double.answerUpgrade(socket, take(double, incoming));
  });
  server.on('connection', () => double.connections++);
  const { port, stop } = await listenOnLoopback(server);
  double.port = port;
  double.close = stop;
  double.use = (next) => server.setSecureContext(tlsOptions(next));
  return double;
}

function tlsOptions({ pair, clientAuthorities }: ApiServerTls) {
  return { cert: pair.chain, key: pair.privateKey, ca: clientAuthorities };
}

function answerReview({ lets }: ApiServerDouble, outgoing: Outgoing, request: ReceivedRequest): void {
  const user = firstHeader(request.headers, 'x-remote-user');
  // The router proves by its certificate whose word it is.
  const isKnown = user !== undefined && request.clientCertificate !== undefined;
  const names = [user, ...allHeaders(request.headers, 'x-remote-group')];
  const status = isKnown ? 201 : firstHeader(request.headers, 'authorization') === undefined ? 403 : 401;
  outgoing.writeHead(status, { 'content-type': 'application/json' });
  const allowed = isKnown && lets.some((name) => names.includes(name));
  outgoing.end(JSON.stringify({ status: { allowed } }));
}

/** Parts of a request before its body. */
export function headOf(
  incoming: IncomingMessage | Http2ServerRequest,
): Pick<ReceivedRequest, 'method' | 'target' | 'headers' | 'clientCertificate'> {
  const socket = incoming instanceof Http2ServerRequest ? incoming.stream.session?.socket : incoming.socket;
  const lines = incoming.rawHeaders;
  return {
    method: incoming.method ?? '',
    target: incoming.url ?? '',
    headers: lines.filter((_, index) => lines[index - (index % 2)]?.startsWith(':') !== true),
    clientCertificate:
      socket instanceof TLSSocket && socket.authorized
        ? commonNameOf(socket.getPeerCertificate().subject?.CN)
        : undefined,
  };
}

function take(double: ApiServerDouble, incoming: IncomingMessage | Http2ServerRequest): ReceivedRequest {
  const request = { ...headOf(incoming), body: '', complete: false, aborted: false };
  if (isOwn(request)) double.ownRequests.push(request);
  else if (request.target === reviewsPath) double.reviews.push(request);
  else double.requests.push(request);
  return request;
}

/** No client can pass for it: what one sends under this name never arrives. */
export function isOwn({ headers }: Pick<ReceivedRequest, 'headers'>): boolean {
  return firstHeader(headers, 'x-remote-user') === routerItself;
}

function commonNameOf(attribute: string | string[] | undefined): string | undefined {
  return typeof attribute === 'string' ? attribute : attribute?.[0];
}

function watchForAbort(
  request: ReceivedRequest,
  emitter: NodeJS.EventEmitter,
  outgoing: { readonly writableEnded: boolean },
): void {
  emitter.once('close', () => {
    if (!outgoing.writableEnded) request.aborted = true;
  });
}

function answerWithEcho(socket: Duplex, request: ReceivedRequest): void {
  const protocol = allHeaders(request.headers, 'upgrade')[0] ?? '';
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: ${protocol}\r\nConnection: Upgrade\r\n\r\n`);
  socket.on('data', (chunk: Buffer) => socket.write(chunk.toString('latin1').toUpperCase()));
}
