import type { IncomingMessage } from 'node:http';
import {
  createSecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Stream,
} from 'node:http2';
import { createServer } from 'node:https';
import type { Readable } from 'node:stream';
import type { TestContext } from 'node:test';
import type { TLSSocket } from 'node:tls';
import type { TransportCredentials } from '../../src/node/destinations/tls-dialer.ts';
import type { Destination } from '../../src/request/destination.ts';
import type { OutboundRequest } from '../../src/request/transport.ts';
import { type Listening, listenOnLoopback } from './listen-on-loopback.ts';
import {
  apiServerPair,
  clusterAuthority,
  frontProxyAuthority,
  proxyClientPair,
  servingPair,
} from './security/certificates.ts';

/** Peers answer to the name `kubernetes.default.svc` whatever their address. */
export const peerName = 'kubernetes.default.svc';
export {
  apiServerPair as peerPair,
  clusterAuthority as servingAuthority,
  frontProxyAuthority,
  servingPair as routerPair,
};

export const credentials: TransportCredentials = {
  peerCertificateAuthorities: clusterAuthority.certificate,
  frontProxy: { certificate: proxyClientPair.chain, key: proxyClientPair.privateKey },
};

export type Protocol = 'h2' | 'http/1.1';

/** Connections that are opened for one: of a server without HTTP/2 the first only says so. */
export const dialled: Readonly<Record<Protocol, number>> = { h2: 1, 'http/1.1': 2 };

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
  /** Frees its port; connections that are open stay. */
  leave(): Promise<void>;
  /** Stops at once, so that the test can go on without it. */
  stop(): Promise<void>;
}

interface PeerOptions {
  readonly pair?: { readonly chain: string; readonly privateKey: string };
  readonly port?: number;
  /** HTTP/2 streams at a time on a connection. Default: any number. */
  readonly maxConcurrentStreams?: number;
}

/** A peer that speaks one protocol only. Stopped at the end of the test. */
export async function startPeer(
  context: TestContext,
  protocol: Protocol,
  handle: PeerHandler,
  { pair = apiServerPair, port = 0, maxConcurrentStreams }: PeerOptions = {},
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
    // Go's servers announce as much.
    const maxHeaderListSize = 1024 * 1024;
    const settings = {
      maxHeaderListSize,
      ...(maxConcurrentStreams === undefined ? {} : { maxConcurrentStreams }),
    };
    const server = createSecureServer({ ...tls, maxHeaderListPairs: 5_000, settings }, onRequest);
    return listen(context, server, port);
  }
  const server = createServer({ ...tls, ALPNProtocols: ['http/1.1'], maxHeaderSize: 1024 * 1024 }, handle);
  server.maxHeadersCount = 5_000;
  // Node closes after five seconds, and a response that the router has not read by then breaks off: on a busy machine.
  server.keepAliveTimeout = 0;
  return listen(context, server, port);
}

/** A peer that is nothing but a TLS socket: whatever HTTP/1.1 the test wants to write. */
export async function startRawPeer(
  context: TestContext,
  onConnection: (socket: TLSSocket) => void,
): Promise<Peer> {
  const server = createServer({
    cert: apiServerPair.chain,
    key: apiServerPair.privateKey,
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

async function listen(context: TestContext, server: Listening, port: number): Promise<Peer> {
  const listening = await listenOnLoopback(server, port);
  context.after(listening.stop);
  return { ...listening, destination: destinationAt(`https://127.0.0.1:${listening.port}`) };
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
