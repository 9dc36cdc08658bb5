import { constants } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server, type ServerOptions } from 'node:https';
import type { SecureContextOptions, TLSSocket, TlsOptions } from 'node:tls';
import { maximumHeaderBytesOf, maximumHeaderLines, type ServerLimits } from '../exchange/serving-limits.ts';
import { certificateError } from './server-error.ts';

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

export interface HttpsServerListeners {
  /** A request by HTTP/1.1. */
  readonly onRequest: (incoming: IncomingMessage, outgoing: ServerResponse) => void;
  /** A connection of a client that speaks HTTP/2. Default: no client is offered it. */
  readonly onHttp2Connection?: ((socket: TLSSocket) => void) | undefined;
  /** Whether the client has shown a certificate that was verified. */
  readonly isVerified: (socket: TLSSocket) => boolean;
}

/** What Node sets the limit of a connection's parser by, when the connection begins; its types leave it out. */
type ServerWithHeaderSize = Server & { maxHeaderSize?: number };

/**
 * Node's HTTPS server, with the limits that Node itself looks after; connections of HTTP/2 clients go past its parser.
 * @throws {ServerError} `InvalidServingCertificate`
 */
export function newHttpsServer(
  tls: ServerTlsOptions,
  limits: ServerLimits,
  { onRequest, ...listeners }: HttpsServerListeners,
): Server {
  const { keepAliveTimeout, headersTimeout, connectionsCheckingInterval, requestTimeout } = limits;
  // `insecureHTTPParser` stays off: the parser refuses what two parsers could read differently.
  const options: ServerOptions = {
    ...secureContextOf(tls),
    ALPNProtocols: listeners.onHttp2Connection === undefined ? ['http/1.1'] : ['h2', 'http/1.1'],
    handshakeTimeout: limits.tlsHandshakeTimeout,
    keepAliveTimeout,
    headersTimeout,
    connectionsCheckingInterval,
    requestTimeout,
    // `faultOfHead` asks for it: Node's own refusal would let what is sent behind the request go on.
    requireHostHeader: false,
    // A request that announces no body has none (RFC 9112 section 6.3): its stream need not be read to its end.
    optimizeEmptyRequests: true,
    // A client that vanished holds its watches until the kernel notices (Go's server asks every 15 s or so).
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
    noDelay: true,
  };
  try {
    const server = createServer(options, onRequest);
    // No option sets it: measured, the 1,000th line is refused without it.
    server.maxHeadersCount = maximumHeaderLines;
    standInFront(server, listeners);
    return server;
  } catch (error) {
    throw certificateError(error);
  }
}

/** Node's listener for finished handshakes begins to read the connection as HTTP/1.1. */
function standInFront(
  server: ServerWithHeaderSize,
  { onHttp2Connection, isVerified }: Omit<HttpsServerListeners, 'onRequest'>,
): void {
  const listeners = server.listeners('secureConnection');
  server.removeAllListeners('secureConnection');
  server.on('secureConnection', (socket) => {
    if (socket.alpnProtocol === 'h2' && onHttp2Connection !== undefined) {
      onHttp2Connection(socket);
      return;
    }
    server.maxHeaderSize = maximumHeaderBytesOf(isVerified(socket));
    for (const listener of listeners) listener.call(server, socket);
  });
}
