import { constants, X509Certificate } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, setMaxIdleHTTPParsers } from 'node:http';
import { createServer, type Server, type ServerOptions } from 'node:https';
import {
  createSecureContext,
  type SecureContext,
  type SecureContextOptions,
  type TLSSocket,
  type TlsOptions,
} from 'node:tls';
import type { TlsParameters } from '../configuration/serve-config.ts';
import type { ServerLimits } from '../exchange/serving-limits.ts';
import { Http1Message } from './held-by-http1.ts';
import { certificateError } from './server-error.ts';

export interface NamedPair {
  readonly cert: string;
  readonly key: string;
  /** Host names, also `*.example.com`. None: those of the certificate. */
  readonly names: readonly string[];
}

/**
 * The value for each name, as kube-apiserver has it (k8s.io/apiserver
 * pkg/server/dynamiccertificates/named_certificates.go): names that were given come before those of certificates, and
 * of equals the earlier pair. Pure.
 */
export function byName<Value>(
  pairs: readonly NamedPair[],
  valueFor: (pair: NamedPair) => Value,
): ReadonlyMap<string, Value> {
  const given = pairs.flatMap((pair) => pair.names.map((name) => [name, pair] as const));
  const own = pairs
    .filter(({ names }) => names.length === 0)
    .flatMap((pair) => namesOf(pair.cert).map((name) => [name, pair] as const));
  const made = new Map(pairs.map((pair) => [pair, valueFor(pair)]));
  const values = new Map<string, Value>();
  for (const [name, pair] of [...given, ...own]) {
    const key = name.toLowerCase();
    if (!values.has(key)) values.set(key, made.get(pair) as Value);
  }
  return values;
}

/** The name itself, else a wildcard for its first label (Go's `tls.Config.getCertificate`). Pure. */
export function certificateFor<Value>(name: string, values: ReadonlyMap<string, Value>): Value | undefined {
  const key = name.toLowerCase();
  return values.get(key) ?? values.get(key.replace(/^[^.]*/, '*'));
}

/** Addresses are left out: no client asks for one (RFC 6066 section 3). */
function namesOf(chain: string): readonly string[] {
  const certificate = new X509Certificate(chain);
  const commonName: unknown = certificate.toLegacyObject().subject?.CN;
  const alternatives = (certificate.subjectAltName ?? '')
    .split(', ')
    .flatMap((each) => (each.startsWith('DNS:') ? [each.slice(4)] : []));
  // The last of several common names counts in Go.
  const own = [commonName].flat().slice(-1).map(String);
  return [...own.filter((name) => !/^[\d.]+$/.test(name)), ...alternatives].filter((name) =>
    hostName.test(name),
  );
}

const hostName = /^(?:\*|(?:\*\.)?[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*)$/i;

export type ServerTlsOptions = Required<Pick<TlsOptions, 'cert' | 'key'>> &
  Pick<TlsOptions, 'requestCert' | 'rejectUnauthorized' | 'ca' | 'secureOptions'> &
  Partial<TlsParameters> & {
    readonly namedPairs?: readonly NamedPair[];
  };

/**
 * Cipher suites: of TLS 1.2 those that HTTP/2 allows (RFC 9113 Appendix A) and the strictest hardening guides (STIG,
 * FIPS 140): AES-GCM, which every client has. 128 bits first, as in Go's servers: with 256 bits lists over HTTP/1.1
 * cost 3 % more CPU (lab/bench/README.md).
 */
const ciphers = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  ...['AES128-GCM-SHA256', 'AES256-GCM-SHA384'].flatMap((suite) => [
    `ECDHE-ECDSA-${suite}`,
    `ECDHE-RSA-${suite}`,
  ]),
].join(':');

/**
 * TLS versions as in kube-apiserver unless others are given. No renegotiation (RFC 9113 section 9.2.1): a client could
 * replace the certificate that was verified. Node would allow three.
 */
function secureContextOf({
  namedPairs: _,
  ...tls
}: ServerTlsOptions): SecureContextOptions & Omit<ServerTlsOptions, 'namedPairs'> {
  const secureOptions = (tls.secureOptions ?? 0) | constants.SSL_OP_NO_RENEGOTIATION;
  return { minVersion: 'TLSv1.2', ...tls, ciphers, secureOptions };
}

function namedContexts(tls: ServerTlsOptions): ReadonlyMap<string, SecureContext> {
  const options = secureContextOf(tls);
  return byName(tls.namedPairs ?? [], ({ cert, key }) => createSecureContext({ ...options, cert, key }));
}

interface HttpsServerListeners {
  readonly onRequest: (incoming: Http1Message, outgoing: ServerResponse) => void;
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
  const { keepAliveTimeout, headersTimeout, connectionsCheckingInterval } = limits;
  // A parser keeps lines of the heads that it has read, a MiB and more of them. Node would have 1,000 parsers of closed
  // connections wait for new ones.
  setMaxIdleHTTPParsers(1);
  // `insecureHTTPParser` stays off: the parser refuses ambiguous requests.
  const options: ServerOptions<typeof Http1Message> = {
    IncomingMessage: Http1Message,
    maxHeaderSize: limits.maximumHeaderBytes,
    ...secureContextOf(tls),
    ALPNProtocols: listeners.onHttp2Connection === undefined ? ['http/1.1'] : ['h2', 'http/1.1'],
    handshakeTimeout: limits.tlsHandshakeTimeout,
    keepAliveTimeout,
    headersTimeout,
    connectionsCheckingInterval,
    // Node's 300,000 would cut long-running requests with a body; `Deadlines` knows which have a limit.
    requestTimeout: 0,
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
  try {
    let named = namedContexts(tls);
    // Left out without pairs: with it Node asks at every handshake. A pair without names may have some when it is replaced.
    if (tls.namedPairs?.length) options.SNICallback = (name, done) => done(null, certificateFor(name, named));
    const server = createServer(options, onRequest);
    // There is no option for it. Without it Node refuses the 1,000th line (measured).
    server.maxHeadersCount = limits.maximumHeaderLines;
    separateHttp2(server, listeners);
    return {
      server,
      setSecureContext(next) {
        try {
          const context = secureContextOf(next);
          createSecureContext(context);
          named = namedContexts(next);
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
