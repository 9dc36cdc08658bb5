import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  createSecureServer,
  type Http2SecureServer,
  Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2';
import { createServer, type Server as Http1SecureServer } from 'node:https';
import type { Duplex } from 'node:stream';
import type { TestContext } from 'node:test';
import { TLSSocket } from 'node:tls';
import { allHeaders, firstHeader, type RawHeaders } from '../../../src/apimachinery/raw-headers.ts';
import type { CertificatePair } from '../certificates.ts';
import { eventually } from '../eventually.ts';
import { type LoopbackServer, listenOnLoopback } from '../listen-on-loopback.ts';
import { apiServerPair, frontProxyAuthority } from '../security/certificates.ts';

export type Protocol = 'h2' | 'http/1.1';
export const protocols: readonly Protocol[] = ['http/1.1', 'h2'];

/** Request that a server got. */
export interface ReceivedRequest {
  readonly method: string;
  readonly target: string;
  /** By which of its starts, from 0, the server took the connection. */
  readonly process: number;
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

interface ApiServerOptions extends Partial<ApiServerTls> {
  /** Default: HTTP/1.1, where smuggling is possible. */
  readonly protocol?: Protocol;
}

/** A TLS server on loopback that stands in for a kube-apiserver: it writes down all it gets, and answers as it is told. */
export class ApiServerDouble {
  readonly id: string;
  /** Requests that clients sent. */
  readonly requests: ReceivedRequest[] = [];
  /** Requests on the router's own account, for health and documents. */
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
  /** 0 before the first start; the same ever after. */
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
  /** The same for the router's own requests. Default: 404. */
  answerOwn: Answer = (outgoing) => {
    outgoing.writeHead(404);
    outgoing.end();
  };
  /** Default: 101, and then every byte back in upper case. */
  answerUpgrade: AnswerUpgrade = answerWithEcho;
  readonly #protocol: Protocol;
  #tls: ApiServerTls;
  #server: Http2SecureServer | Http1SecureServer | undefined;
  #listening: LoopbackServer | undefined;
  #starts = 0;
  #bytes = '';

  constructor(id: string, options: ApiServerOptions = {}) {
    const { protocol = 'http/1.1', pair = apiServerPair } = options;
    this.id = id;
    this.#protocol = protocol;
    this.#tls = { pair, clientAuthorities: options.clientAuthorities ?? frontProxyAuthority.certificate };
  }

  /** All that clients sent over HTTP/1.1, every connection in order of arrival, as a byte string. */
  get bytes(): string {
    return this.#bytes.replace(ownRequest, '');
  }

  get origin(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  /** Listens, at the port that it had before if there was one. */
  async start(): Promise<void> {
    const process = this.#starts++;
    const server = this.#protocol === 'h2' ? this.#http2Server(process) : this.#http1Server(process);
    if ('maxHeadersCount' in server) server.maxHeadersCount = 5_000;
    server.on('secureConnection', (socket: TLSSocket) => {
      if (socket.alpnProtocol === 'h2') return;
      socket.on('data', (chunk: Buffer) => {
        this.#bytes += chunk.toString('latin1');
      });
    });
    server.on('upgrade', (incoming: IncomingMessage, socket: Duplex) => {
      socket.on('error', () => {});
      this.answerUpgrade(socket, this.#take(incoming, process));
    });
    server.on('connection', () => this.connections++);
    this.#server = server;
    this.#listening = await listenOnLoopback(server, this.port);
    this.port = this.#listening.port;
  }

  /** Breaks every connection. */
  async stop(): Promise<void> {
    await this.#listening?.stop();
  }

  /**
   * Another process takes the connections that are opened from now on, and the one of before keeps those that are open: what
   * `--permit-port-sharing` does, and a load balancer that drains.
   */
  async handOver(): Promise<void> {
    await this.#listening?.leave();
    await this.start();
  }

  /** Takes another serving pair or other client authorities for connections from now on. */
  use(tls: ApiServerTls): void {
    this.#tls = tls;
    this.#server?.setSecureContext(tlsOptions(tls));
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

  #http2Server(process: number): Http2SecureServer {
    const limits = { maxHeaderListPairs: 5_000, settings: { maxHeaderListSize: 1024 * 1024 } };
    return createSecureServer(
      { ...tlsOptions(this.#tls), ...limits, allowHTTP1: true },
      (incoming: Http2ServerRequest, outgoing: Http2ServerResponse) => {
        outgoing.on('error', () => {});
        const request = this.#receive(incoming, outgoing as Outgoing, process);
        watchForAbort(request, outgoing.stream ?? outgoing, outgoing);
      },
    );
  }

  #http1Server(process: number): Http1SecureServer {
    return createServer(
      { ...tlsOptions(this.#tls), ALPNProtocols: ['http/1.1'], maxHeaderSize: 1024 * 1024 },
      (incoming: IncomingMessage, outgoing: ServerResponse) => {
        watchForAbort(this.#receive(incoming, outgoing, process), outgoing, outgoing);
      },
    );
  }

  #receive(
    incoming: IncomingMessage | Http2ServerRequest,
    outgoing: Outgoing,
    process: number,
  ): ReceivedRequest {
    const request = this.#take(incoming, process);
    incoming.on('data', (chunk: Buffer) => {
      request.body += chunk.toString('latin1');
    });
    incoming.on('end', () => {
      // A reset ends an HTTP/2 stream for Node, too, and `complete` says nothing about it.
      request.complete =
        incoming instanceof Http2ServerRequest ? incoming.stream.rstCode === 0 : incoming.complete;
      if (isOwn(request)) this.answerOwn(outgoing, request);
      else if (request.target === reviewsPath) answerReview(this, outgoing, request);
      else if (request.complete) this.answer(outgoing, request);
    });
    // A client that resets or vanishes is what many tests are about.
    incoming.on('error', () => {});
    return request;
  }

  #take(incoming: IncomingMessage | Http2ServerRequest, process: number): ReceivedRequest {
    const request = { ...headOf(incoming), process, body: '', complete: false, aborted: false };
    if (isOwn(request)) this.ownRequests.push(request);
    else if (request.target === reviewsPath) this.reviews.push(request);
    else this.requests.push(request);
    return request;
  }
}

/** Stopped at the end of the test. */
export async function startApiServer(
  context: TestContext,
  id: string,
  options: ApiServerOptions = {},
): Promise<ApiServerDouble> {
  const server = new ApiServerDouble(id, options);
  await server.start();
  context.after(() => server.stop());
  return server;
}

function tlsOptions({ pair, clientAuthorities }: ApiServerTls) {
  const { chain: cert, privateKey: key } = pair;
  return { cert, key, ca: clientAuthorities, requestCert: true, rejectUnauthorized: false };
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
