import { constants } from 'node:crypto';
import type { Server as Http1Server, ServerOptions as Http1ServerOptions } from 'node:http';
import {
  createSecureServer,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type SecureServerOptions,
  type ServerHttp2Stream,
} from 'node:http2';
import type { SecureContextOptions, TLSSocket, TlsOptions } from 'node:tls';
import type { NodeIncoming, NodeOutgoing } from './node-inbound.ts';
import { certificateError } from './server-error.ts';
import { maximumHeaderBytes, maximumHeaderLines, type ServerLimits, streamWindow } from './server-limits.ts';

/** The serving pair, PEM, and what `clientCertificateTlsOptions` says about client certificates. */
export type ServerTlsOptions = Required<Pick<TlsOptions, 'cert' | 'key'>> &
  Pick<TlsOptions, 'requestCert' | 'rejectUnauthorized' | 'ca' | 'secureOptions'>;

/**
 * Versions as kube-apiserver, and no handshake in the middle of a connection (RFC 9113 section 9.2.1): nobody's
 * certificate takes the place of the one that was checked. Node would allow three.
 */
export function secureContextOf(tls: ServerTlsOptions): SecureContextOptions & ServerTlsOptions {
  const secureOptions = (tls.secureOptions ?? 0) | constants.SSL_OP_NO_RENEGOTIATION;
  return { ...tls, minVersion: 'TLSv1.2', secureOptions };
}

/** With `allowHTTP1` Node's HTTP/2 server is an HTTP/1.1 server as well; its types do not say so. */
type DualServer = Http2SecureServer & Pick<Http1Server, 'maxHeadersCount' | 'closeIdleConnections'>;

export interface DualServerListeners {
  readonly onRequest: (incoming: NodeIncoming, outgoing: NodeOutgoing) => void;
  /** A stream of HTTP/2. @returns whether it has been taken; else it is handed to `onRequest`. */
  readonly onStream: Http2StreamListener;
  /** A connection of a client that speaks HTTP/2. Default: Node reads all of them, and calls `onStream`. */
  readonly onHttp2Connection?: ((socket: TLSSocket) => void) | undefined;
}

export type Http2StreamListener = (
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  rawHeaders: readonly string[],
) => boolean;

/**
 * One TLS server for both protocols, with the limits that Node itself looks after.
 * @throws {ServerError} `InvalidServingCertificate`
 */
export function newServer(
  tls: ServerTlsOptions,
  limits: ServerLimits,
  { onRequest, onStream, onHttp2Connection }: DualServerListeners,
): DualServer {
  const { maxConcurrentStreams, maxSessionMemory, maxSessionRejectedStreams } = limits;
  const { keepAliveTimeout, headersTimeout, connectionsCheckingInterval, requestTimeout } = limits;
  const { tlsHandshakeTimeout } = limits;
  // `insecureHTTPParser` stays off: the parser refuses what two parsers could read differently.
  const http1Options: Http1ServerOptions = {
    maxHeaderSize: maximumHeaderBytes,
    keepAliveTimeout,
    headersTimeout,
    connectionsCheckingInterval,
    requestTimeout,
    // `faultOfHead` asks for it: Node's own refusal would let what is sent behind the request go on.
    requireHostHeader: false,
    // A request that announces no body has none (RFC 9112 section 6.3): its stream need not be read to its end.
    optimizeEmptyRequests: true,
  };
  const options: SecureServerOptions = {
    ...secureContextOf(tls),
    handshakeTimeout: tlsHandshakeTimeout,
    allowHTTP1: true,
    settings: {
      maxConcurrentStreams,
      initialWindowSize: streamWindow,
      maxHeaderListSize: maximumHeaderBytes,
    },
    maxHeaderListPairs: maximumHeaderLines,
    maxSendHeaderBlockLength: maximumHeaderBytes,
    maxSessionMemory,
    maxSessionRejectedStreams,
    // Lines of an answer are passed on as they came, also where a name that should stand once stands twice.
    strictSingleValueFields: false,
    http1Options,
    // A client that vanished holds its watches until the kernel notices (Go's server asks every 15 s or so).
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
    noDelay: true,
  };
  try {
    const server = createSecureServer(options, onRequest) as DualServer;
    // HTTP/1.1's own limit of lines, which no option sets: measured, the 1,000th is refused without it.
    server.maxHeadersCount = maximumHeaderLines;
    standInFront(server, onStream);
    standBeforeNode(server, onHttp2Connection);
    return server;
  } catch (error) {
    throw certificateError(error);
  }
}

/** On a server the streams are a server's, which Node's types of the event do not say. */
type StreamListener = (
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  flags: number,
  rawHeaders: string[],
) => void;

/**
 * Node's listener for streams builds objects in the shape of HTTP/1.1 around each of them and emits 'request'. A
 * listener that stands in front of it spares that for streams that are answered as what they are.
 */
function standInFront(server: DualServer, onStream: Http2StreamListener): void {
  const listeners = server.listeners('stream');
  server.removeAllListeners('stream');
  const front: StreamListener = (stream, headers, flags, rawHeaders) => {
    if (onStream(stream, headers, rawHeaders)) return;
    for (const listener of listeners) listener.call(server, stream, headers, flags, rawHeaders);
  };
  server.on('stream', front);
}

/** Node's listener for finished handshakes begins to read the connection by the protocol that was agreed on. */
function standBeforeNode(
  server: DualServer,
  onHttp2Connection: DualServerListeners['onHttp2Connection'],
): void {
  const listeners = server.listeners('secureConnection');
  server.removeAllListeners('secureConnection');
  server.on('secureConnection', (socket) => {
    if (socket.alpnProtocol === 'h2' && onHttp2Connection !== undefined) onHttp2Connection(socket);
    else for (const listener of listeners) listener.call(server, socket);
  });
}
