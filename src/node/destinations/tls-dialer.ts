import { isIP, type LookupFunction, type OnReadOpts } from 'node:net';
import { connect, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import { type Destination, TransportError } from '../../request/destination.ts';
import { errorMessage } from '../../runtime/errors.ts';
import type { AddressPolicy } from '../../snapshot/addresses/address-policy.ts';
import type { DialObserver } from '../exchange/connection-observer.ts';
import { guardedLookup, type ResolveName, refusedAddress } from './guarded-lookup.ts';
import { checkServerIdentity } from './server-identity.ts';

/** What we trust, and our own certificate; PEM. */
export interface TransportCredentials {
  /** `--peer-ca-file`: verifies the serving certificates of the local server and of peers. */
  readonly peerCertificateAuthorities: string;
  /** `--proxy-client-cert-file` and `--proxy-client-key-file`. Without it no identity can be asserted. */
  readonly frontProxy?: { readonly certificate: string; readonly key: string } | undefined;
}

interface DialOptions {
  readonly destination: Destination;
  readonly presentFrontProxyCertificate: boolean;
  /** In order of preference (RFC 7301). */
  readonly protocols: readonly ('h2' | 'http/1.1')[];
  /** Aborts the dial when the client goes away. */
  readonly signal?: AbortSignal | undefined;
  /** Receives the bytes without a stream and without a buffer for each piece (`onread` of node:net). */
  readonly onread?: OnReadOpts | undefined;
}

/** Which addresses may be dialled. */
interface DialGuard {
  /** For destinations of a snapshot, checked at each dial; the local server's address is configured. */
  readonly addressPolicy: AddressPolicy;
  /** Default: the system's resolver. */
  readonly resolveName?: ResolveName | undefined;
}

export interface TlsDialerOptions {
  readonly credentials: TransportCredentials;
  /** Milliseconds for name resolution, TCP and TLS. Default 10,000. */
  readonly connectTimeout?: number;
  /** Milliseconds for the TLS handshake alone, from the TCP connection on. Default: within `connectTimeout`. */
  readonly tlsHandshakeTimeout?: number;
  /** Which addresses may be dialled. Default: every one. */
  readonly guard?: DialGuard;
  /** Is told of connections, for metrics. */
  readonly dialObserver?: DialObserver | undefined;
}

/** Opens TLS connections to destinations with the current credentials, and verifies the servers. */
export class TlsDialer {
  /** As in the options; for new connections. */
  readonly connectTimeout: number;
  readonly #tlsHandshakeTimeout: number | undefined;
  readonly #observer: DialObserver | undefined;
  readonly #addressPolicy: AddressPolicy | undefined;
  readonly #lookup: LookupFunction | undefined;
  #credentials: TransportCredentials;
  #peerContexts: PeerContexts;
  /** For servers with a CA bundle of their own, by the bundle; oldest first. */
  #bundleContexts = new Map<string, SecureContext>();

  /** @throws if a certificate or key cannot be read */
  constructor(options: TlsDialerOptions) {
    const { credentials, connectTimeout = 10_000, tlsHandshakeTimeout, guard, dialObserver } = options;
    this.#observer = dialObserver;
    this.connectTimeout = connectTimeout;
    this.#tlsHandshakeTimeout = tlsHandshakeTimeout;
    this.#addressPolicy = guard?.addressPolicy;
    this.#lookup = guard && guardedLookup(guard.addressPolicy, guard.resolveName);
    this.#credentials = credentials;
    this.#peerContexts = newPeerContexts(credentials);
  }

  /**
   * For new connections.
   * @throws if a certificate or key cannot be read; the old credentials stay in use then
   */
  update(credentials: TransportCredentials): void {
    this.#peerContexts = newPeerContexts(credentials);
    this.#credentials = credentials;
    this.#bundleContexts = new Map();
  }

  /** @throws {TransportError} `mayHaveBeenProcessed` is always false: a dial sends no request. */
  dial(options: DialOptions): Promise<TLSSocket> {
    const opening = this.#open(options);
    const observer = this.#observer;
    if (observer === undefined) return opening;
    const { destination } = options;
    const start = performance.now();
    opening.then(
      (socket) => observer.connected(destination, socket, performance.now() - start),
      (error: unknown) => {
        if (error instanceof TransportError) observer.failed(destination, error);
      },
    );
    return opening;
  }

  async #open(options: DialOptions): Promise<TLSSocket> {
    const { destination, protocols, signal, onread } = options;
    const { serverName } = destination;
    const { hostname, port } = new URL(destination.origin);
    // URL keeps the brackets of an IPv6 address; sockets need it without.
    const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
    const refusal = this.#refusal(destination, host);
    if (refusal !== undefined) throw refusal;
    const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
    let tcpConnected = false;
    let timedOut = false;
    const socket = connect({
      host,
      ...(this.#lookup === undefined || destination.kind === 'local' ? {} : { lookup: this.#lookup }),
      port: port === '' ? 443 : Number(port),
      // The destination's name, never the address or the request's Host. No SNI for an IP address (RFC 6066 section 3),
      // which is still verified below.
      servername: isIP(serverName) === 0 ? serverName : '',
      checkServerIdentity: (_name, certificate) => checkServerIdentity(serverName, certificate),
      rejectUnauthorized: true,
      secureContext: this.#context(options),
      ALPNProtocols: [...protocols],
      ...(onread === undefined ? {} : { onread }),
    });
    socket.setNoDelay(true).setKeepAlive(true, tcpKeepAliveDelay);
    const giveUpAfter = (milliseconds: number, what: string): NodeJS.Timeout =>
      setTimeout(() => {
        timedOut = true;
        socket.destroy(new Error(`${what} within ${milliseconds} ms`));
      }, milliseconds);
    let timer = giveUpAfter(this.connectTimeout, 'not connected');
    const abort = (): void => {
      socket.destroy(new Error('the client went away'));
    };
    signal?.addEventListener('abort', abort);
    const settled = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      socket.off('error', failed).off('close', closed);
    };
    const failed = (error: Error): void => {
      settled();
      const code = dialErrorCode({ timedOut, tcpConnected, aborted: signal?.aborted === true });
      const message = `${destination.origin} as ${serverName}: ${errorMessage(error)}`;
      reject(new TransportError(code, message, { mayHaveBeenProcessed: false, cause: error }));
    };
    const closed = (): void => failed(new Error('closed during the TLS handshake'));
    socket.once('connect', () => {
      tcpConnected = true;
      if (this.#tlsHandshakeTimeout === undefined) return;
      clearTimeout(timer);
      timer = giveUpAfter(this.#tlsHandshakeTimeout, 'no TLS handshake');
    });
    socket.once('secureConnect', () => {
      settled();
      resolve(socket);
    });
    socket.on('error', failed).on('close', closed);
    // An error must never be unhandled, before and after the socket is used.
    socket.on('error', () => {});
    if (signal?.aborted === true) abort();
    return promise;
  }

  /** Checks an origin that is an IP address: sockets call `lookup` for names only. */
  #refusal(destination: Destination, host: string): TransportError | undefined {
    if (this.#addressPolicy === undefined || destination.kind === 'local' || isIP(host) === 0)
      return undefined;
    const reason = refusedAddress(host, this.#addressPolicy);
    if (reason === undefined) return undefined;
    return new TransportError('ConnectFailed', `${destination.origin}: the address ${reason}`, {
      mayHaveBeenProcessed: false,
    });
  }

  #context({ destination, presentFrontProxyCertificate }: DialOptions): SecureContext {
    const { trust } = destination;
    if (trust.kind === 'peer-ca') {
      return presentFrontProxyCertificate
        ? this.#peerContexts.withCertificate
        : this.#peerContexts.withoutCertificate;
    }
    const contexts = this.#bundleContexts;
    const key = `${presentFrontProxyCertificate} ${trust.pem}`;
    let context = contexts.get(key);
    if (context === undefined) {
      try {
        context = newContext(this.#credentials, presentFrontProxyCertificate, trust.pem);
      } catch (cause) {
        throw new TransportError('TLSFailed', `${destination.id}: its CA bundle cannot be read`, {
          mayHaveBeenProcessed: false,
          cause,
        });
      }
      if (contexts.size >= maximumBundleContexts) {
        const [oldest] = contexts.keys();
        if (oldest !== undefined) contexts.delete(oldest);
      }
      contexts.set(key, context);
    }
    return context;
  }
}

/** Milliseconds of silence before the kernel sends keep-alive probes. */
const tcpKeepAliveDelay = 30_000;
/** One is in use at any time; its file may change. */
const maximumBundleContexts = 4;

/** For connections that are verified with the peer CA bundle. */
interface PeerContexts {
  readonly withCertificate: SecureContext;
  readonly withoutCertificate: SecureContext;
}

/** @throws if a certificate or key cannot be read */
function newPeerContexts(credentials: TransportCredentials): PeerContexts {
  const { peerCertificateAuthorities } = credentials;
  return {
    withCertificate: newContext(credentials, true, peerCertificateAuthorities),
    withoutCertificate: newContext(credentials, false, peerCertificateAuthorities),
  };
}

function newContext(
  credentials: TransportCredentials,
  withCertificate: boolean,
  authorities: string,
): SecureContext {
  const { frontProxy } = credentials;
  return createSecureContext({
    // TLS 1.2 or later, as in kube-apiserver's own peer proxy.
    minVersion: 'TLSv1.2',
    ca: [authorities],
    ...(withCertificate && frontProxy !== undefined
      ? { cert: frontProxy.certificate, key: frontProxy.key }
      : {}),
  });
}

function dialErrorCode(at: {
  timedOut: boolean;
  tcpConnected: boolean;
  aborted: boolean;
}): 'ClientGone' | 'Timeout' | 'TLSFailed' | 'ConnectFailed' {
  if (at.aborted) return 'ClientGone';
  if (at.timedOut) return 'Timeout';
  return at.tcpConnected ? 'TLSFailed' : 'ConnectFailed';
}
