import { constants } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server, type ServerOptions } from 'node:https';
import { createSecureContext, type SecureContextOptions, type TLSSocket, type TlsOptions } from 'node:tls';
import { defaultTlsParameters, type TlsParameters } from '../configuration/serve-config.ts';
import { maximumHeaderBytes, maximumHeaderLines, type ServerLimits } from '../exchange/serving-limits.ts';
import { Http1Message } from './http1-message.ts';
import { NamedCertificates, type NamedPair } from './named-certificates.ts';
import { certificateError } from './server-error.ts';

/** The serving pairs, PEM, and the options of `clientCertificateTlsOptions`. */
export type ServerTlsOptions = Required<Pick<TlsOptions, 'cert' | 'key'>> &
  Pick<TlsOptions, 'requestCert' | 'rejectUnauthorized' | 'ca' | 'secureOptions'> &
  Partial<TlsParameters> & {
    /** For clients who ask for one of their names. Default: none. */
    readonly namedPairs?: readonly NamedPair[];
  };

/**
 * TLS versions as in kube-apiserver unless others are given. No renegotiation (RFC 9113 section 9.2.1): a client could
 * replace the certificate that was verified. Node would allow three.
 */
function secureContextOf({
  namedPairs: _,
  ...tls
}: ServerTlsOptions): SecureContextOptions & Omit<ServerTlsOptions, 'namedPairs'> {
  const secureOptions = (tls.secureOptions ?? 0) | constants.SSL_OP_NO_RENEGOTIATION;
  return { ...defaultTlsParameters, ...tls, secureOptions };
}

interface HttpsServerListeners {
  /** A request over HTTP/1.1. */
  readonly onRequest: (incoming: Http1Message, outgoing: ServerResponse) => void;
  /** Which requests with `Upgrade` are upgrades; all others are ordinary ones. */
  readonly isUpgrade: (incoming: IncomingMessage) => boolean;
  /** A connection that negotiated HTTP/2. Default: HTTP/2 is not offered. */
  readonly onHttp2Connection?: ((socket: TLSSocket) => void) | undefined;
}

interface RouterHttpsServer {
  readonly server: Server<typeof Http1Message>;
  /** @throws {ServerError} `InvalidServingCertificate`; the old pairs stay in use then. */
  setSecureContext(tls: ServerTlsOptions): void;
}

/**
 * Node's HTTPS server with the limits that Node enforces. Connections of HTTP/2 clients bypass its parser.
 * @throws {ServerError} `InvalidServingCertificate`
 */
export function newHttpsServer(
  tls: ServerTlsOptions,
  limits: ServerLimits,
  { onRequest, ...listeners }: HttpsServerListeners,
): RouterHttpsServer {
  const { keepAliveTimeout, headersTimeout, connectionsCheckingInterval, requestTimeout } = limits;
  // `insecureHTTPParser` stays off: the parser refuses ambiguous requests.
  const options: ServerOptions<typeof Http1Message> = {
    IncomingMessage: Http1Message,
    maxHeaderSize: maximumHeaderBytes,
    ...secureContextOf(tls),
    ALPNProtocols: listeners.onHttp2Connection === undefined ? ['http/1.1'] : ['h2', 'http/1.1'],
    handshakeTimeout: limits.tlsHandshakeTimeout,
    keepAliveTimeout,
    headersTimeout,
    connectionsCheckingInterval,
    requestTimeout,
    // `issueOfHead` checks it: after Node's own refusal the next request on the connection would be processed.
    requireHostHeader: false,
    // A request without a body (RFC 9112 section 6.3) needs no stream that is read to its end.
    optimizeEmptyRequests: true,
    shouldUpgradeCallback: listeners.isUpgrade,
    // Detects clients that are gone, which would keep their watches (Go's server probes every 15 s or so).
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
    noDelay: true,
  };
  const named = new NamedCertificates();
  const { namedPairs = [] } = tls;
  // Left out where no pair has a name: with it Node asks at every handshake.
  if (namedPairs.length > 0) options.SNICallback = named.choose;
  try {
    named.replace(namedPairs, secureContextOf(tls));
    const server = createServer(options, onRequest);
    // There is no option for it. Without it Node refuses the 1,000th line (measured).
    server.maxHeadersCount = maximumHeaderLines;
    separateHttp2(server, listeners);
    return {
      server,
      setSecureContext(next) {
        try {
          const context = secureContextOf(next);
          // Checked before anything is taken.
          createSecureContext(context);
          named.replace(next.namedPairs ?? [], context);
          server.setSecureContext(context);
        } catch (error) {
          throw certificateError(error);
        }
      },
    };
  } catch (error) {
    throw certificateError(error);
  }
}

/** Replaces Node's listener for finished handshakes, which would read every connection as HTTP/1.1. */
function separateHttp2(
  server: RouterHttpsServer['server'],
  { onHttp2Connection }: Omit<HttpsServerListeners, 'onRequest' | 'isUpgrade'>,
): void {
  const listeners = server.listeners('secureConnection');
  server.removeAllListeners('secureConnection');
  server.on('secureConnection', (socket) => {
    if (socket.alpnProtocol === 'h2' && onHttp2Connection !== undefined) {
      onHttp2Connection(socket);
      return;
    }
    for (const listener of listeners) listener.call(server, socket);
  });
}
