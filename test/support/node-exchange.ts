import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import {
  type ClientHttp2Session,
  connect as connectHttp2,
  createSecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Stream,
} from 'node:http2';
import { createServer, request as httpsRequest } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Readable } from 'node:stream';
import type { TestContext } from 'node:test';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { RawHeaders } from '../../src/apimachinery/raw-headers.ts';
import type { TransportCredentials } from '../../src/node/tls-dialer.ts';
import type { Destination, OutboundRequest } from '../../src/proxy/transport.ts';
import { createAuthority } from './certificates.ts';

/** Signs serving certificates of peers and of the router. */
export const servingAuthority = await createAuthority('serving-ca');
/** Signs the certificate that the router proves itself to peers with. */
export const frontProxyAuthority = await createAuthority('front-proxy-ca');
const frontProxy = await frontProxyAuthority.issue({ commonName: 'front-proxy-client', usage: 'client' });
/** Peers answer to the name `kubernetes.default.svc` whatever their address. */
export const peerName = 'kubernetes.default.svc';
export const peerPair = await servingAuthority.issue({
  commonName: 'apiserver',
  dnsNames: [peerName],
  usage: 'server',
});
export const routerPair = await servingAuthority.issue({
  commonName: 'router',
  dnsNames: ['localhost'],
  ipAddresses: ['127.0.0.1'],
  usage: 'server',
});

export const credentials: TransportCredentials = {
  peerCertificateAuthorities: servingAuthority.certificate,
  frontProxy: { certificate: frontProxy.chain, key: frontProxy.privateKey },
};

export type Protocol = 'h2' | 'http/1.1';

/** A request at a peer's end: what Node's HTTP/1.1 and HTTP/2 requests have in common. */
export type PeerIncoming = (IncomingMessage | Http2ServerRequest) & Readable;

/** An answer at a peer's end. On HTTP/2 there is a `stream`. */
export interface PeerOutgoing extends NodeJS.EventEmitter {
  readonly stream?: ServerHttp2Stream;
  setHeader(name: string, value: string | readonly string[]): unknown;
  writeHead(status: number, headers?: Record<string, string>): unknown;
  flushHeaders(): void;
  write(chunk: string | Buffer): boolean;
  end(chunk?: string | Buffer): unknown;
  destroy(error?: Error): unknown;
}

type PeerHandler = (incoming: PeerIncoming, outgoing: PeerOutgoing) => unknown;

/** A destination's server on loopback, with what tests ask about it. */
export interface Peer {
  readonly port: number;
  readonly destination: Destination;
  /** Connections accepted so far. */
  connections(): number;
  /** Connections open now. */
  openConnections(): number;
  /** Stops at once, so that the test can go on without it. */
  stop(): Promise<void>;
}

export interface PeerOptions {
  readonly pair?: { readonly chain: string; readonly privateKey: string };
  readonly port?: number;
}

/** A peer that speaks one protocol only. Stopped at the end of the test. */
export async function startPeer(
  context: TestContext,
  protocol: Protocol,
  handle: PeerHandler,
  { pair = peerPair, port = 0 }: PeerOptions = {},
): Promise<Peer> {
  const tls = {
    cert: pair.chain,
    key: pair.privateKey,
    ca: frontProxyAuthority.certificate,
    requestCert: true,
    rejectUnauthorized: false,
  };
  if (protocol === 'h2') {
    const onRequest = (incoming: Http2ServerRequest, outgoing: Http2ServerResponse): void => {
      // Node's types leave flushHeaders() out.
      handle(incoming, outgoing as unknown as PeerOutgoing);
    };
    return listen(context, createSecureServer({ ...tls, maxHeaderListPairs: 5_000 }, onRequest), port);
  }
  const server = createServer({ ...tls, ALPNProtocols: ['http/1.1'], maxHeaderSize: 1024 * 1024 }, handle);
  server.maxHeadersCount = 5_000;
  return listen(context, server, port);
}

/** A peer that is nothing but a TLS socket: whatever HTTP/1.1 the test wants to write. */
export async function startRawPeer(
  context: TestContext,
  onConnection: (socket: TLSSocket) => void,
): Promise<Peer> {
  const server = createServer({
    cert: peerPair.chain,
    key: peerPair.privateKey,
    ca: frontProxyAuthority.certificate,
    requestCert: true,
    rejectUnauthorized: false,
    ALPNProtocols: ['http/1.1'],
  });
  // The HTTP parser attaches itself on this event; here the test takes its place.
  server.removeAllListeners('secureConnection');
  server.on('secureConnection', (socket: TLSSocket) => {
    socket.on('error', () => socket.destroy());
    onConnection(socket);
  });
  return listen(context, server, 0);
}

interface Listening {
  listen(port: number, host: string): unknown;
  address(): AddressInfo | string | null;
  close(callback: () => void): unknown;
  on(event: 'connection', listener: (socket: Socket) => void): unknown;
}

async function listen(
  context: TestContext,
  server: Listening & NodeJS.EventEmitter,
  port: number,
): Promise<Peer> {
  const sockets = new Set<Socket>();
  let accepted = 0;
  server.on('connection', (socket: Socket) => {
    accepted++;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopped ??= new Promise((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
    return stopped;
  };
  context.after(stop);
  const address = server.address() as AddressInfo;
  return {
    port: address.port,
    destination: destinationAt(`https://127.0.0.1:${address.port}`),
    connections: () => accepted,
    openConnections: () => sockets.size,
    stop,
  };
}

export function destinationAt(origin: string, overrides: Partial<Destination> = {}): Destination {
  return { kind: 'peer', id: 'peer', origin, serverName: peerName, trust: { kind: 'peer-ca' }, ...overrides };
}

export function outboundTo(
  destination: Destination,
  overrides: Partial<OutboundRequest> = {},
): OutboundRequest {
  return {
    destination,
    method: 'GET',
    target: '/apis/batch/v1/jobs',
    headers: [],
    presentFrontProxyCertificate: true,
    longRunning: false,
    ...overrides,
  };
}

/** An answer as it stood on the wire. */
export interface WireAnswer {
  readonly status: number;
  readonly statusMessage: string;
  readonly headers: RawHeaders;
  readonly body: Buffer;
}

export interface WireRequest {
  readonly method?: string;
  readonly path?: string;
  /** name, value, name, value. */
  readonly headers?: readonly string[];
  readonly body?: string | Buffer;
}

/** Asks the router over HTTP/1.1, on a connection of its own. */
export async function askHttp1(port: number, request: WireRequest = {}): Promise<WireAnswer> {
  const { method = 'GET', path = '/', headers = [], body } = request;
  const length = body === undefined ? [] : ['content-length', String(Buffer.byteLength(body))];
  const outgoing = httpsRequest({
    host: '127.0.0.1',
    port,
    method,
    path,
    agent: false,
    ca: servingAuthority.certificate,
    headers: ['host', `127.0.0.1:${port}`, ...headers, ...length, 'connection', 'close'],
  });
  outgoing.end(body);
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  return {
    status: incoming.statusCode ?? 0,
    statusMessage: incoming.statusMessage ?? '',
    headers: incoming.rawHeaders,
    body: Buffer.concat(await incoming.toArray()),
  };
}

/** An HTTP/2 connection to the router, closed at the end of the test. */
export function http2Client(context: TestContext, port: number): ClientHttp2Session {
  const session = connectHttp2(`https://127.0.0.1:${port}`, {
    ca: servingAuthority.certificate,
    maxSendHeaderBlockLength: 1024 * 1024,
  });
  session.on('error', () => {});
  context.after(() => session.destroy());
  return session;
}

/** Asks the router over HTTP/2. */
export async function askHttp2(session: ClientHttp2Session, request: WireRequest = {}): Promise<WireAnswer> {
  const { method = 'GET', path = '/', headers = [], body } = request;
  const stream = session.request([':method', method, ':path', path, ...headers], {
    endStream: body === undefined,
  });
  if (body !== undefined) stream.end(body);
  const answered = new Promise<readonly string[]>((resolve, reject) => {
    stream.once('response', (_headers, _flags, rawHeaders) => resolve(rawHeaders));
    stream.once('error', reject);
    stream.once('close', () => reject(new Error(`closed with code ${stream.rstCode}`)));
  });
  const lines = await answered;
  const body2 = Buffer.concat(await stream.toArray());
  const pseudo = lines.indexOf(':status');
  return {
    status: Number(lines[pseudo + 1]),
    statusMessage: '',
    headers: lines.filter((_, index) => index - (index % 2) !== pseudo),
    body: body2,
  };
}

/** A TLS connection to the router on which the test writes HTTP/1.1 by hand. */
export async function rawClient(context: TestContext, port: number): Promise<TLSSocket> {
  const socket = connectTls({
    host: '127.0.0.1',
    port,
    ca: servingAuthority.certificate,
    ALPNProtocols: ['http/1.1'],
  });
  socket.on('error', () => {});
  context.after(() => socket.destroy());
  await once(socket, 'secureConnect');
  return socket;
}

/** Reads from `socket` until what came contains `mark`; the end of the connection before it is an error. */
export async function readUntil(socket: TLSSocket, mark: string): Promise<string> {
  let text = '';
  while (!text.includes(mark)) {
    const chunk: Buffer | null = socket.read();
    if (chunk !== null) {
      text += chunk.toString('latin1');
      continue;
    }
    if (socket.readableEnded || socket.destroyed) throw new Error(`the connection ended after: ${text}`);
    await new Promise<void>((resolve) => {
      const woken = (): void => {
        socket.off('readable', woken).off('end', woken).off('close', woken);
        resolve();
      };
      socket.on('readable', woken).on('end', woken).on('close', woken);
    });
  }
  return text;
}

/** Everything that still comes on `socket`. */
export async function readToEnd(socket: TLSSocket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  if (!socket.readableEnded && !socket.destroyed) {
    await new Promise<void>((resolve) => {
      socket.on('end', () => resolve()).on('close', () => resolve());
    });
  }
  return Buffer.concat(chunks).toString('latin1');
}
