import { createServer } from 'node:https';
import type { TestContext } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { type LoopbackServer, listenOnLoopback } from '../../../packages/http2/test/listen-on-loopback.ts';
import {
  type PeerHandler,
  type Protocol,
  startPeer as startHttpPeer,
} from '../../../packages/http2/test/peer.ts';
import type { TransportCredentials } from '../../../src/node/destinations/tls-dialer.ts';
import type { Destination } from '../../../src/request/destination.ts';
import type { OutboundRequest } from '../../../src/request/transport.ts';
import {
  apiServerPair,
  clusterAuthority,
  frontProxyAuthority,
  proxyClientPair,
  servingPair,
} from '../security/certificates.ts';

/** Peers answer to the name `kubernetes.default.svc` whatever their address. */
export const peerName = 'kubernetes.default.svc';

export type { PeerIncoming, PeerOutgoing, Protocol } from '../../../packages/http2/test/peer.ts';
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

/** Connections that are opened for one: of a server without HTTP/2 the first only says so. */
export const dialled: Readonly<Record<Protocol, number>> = { h2: 1, 'http/1.1': 2 };

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
  return asPeer(await startHttpPeer(context, protocol, handle, { tls, port, maxConcurrentStreams }));
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
  const listening = await listenOnLoopback(server);
  context.after(listening.stop);
  return asPeer(listening);
}

function asPeer(listening: LoopbackServer): Peer {
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
