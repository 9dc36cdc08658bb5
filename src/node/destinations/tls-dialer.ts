import { type LookupAddress, type LookupOptions, lookup } from 'node:dns';
import { isIP, type LookupFunction, type OnReadOpts } from 'node:net';
import {
  checkServerIdentity as checkNames,
  connect,
  createSecureContext,
  type PeerCertificate,
  type SecureContext,
  type TLSSocket,
} from 'node:tls';
import { type Destination, TransportError } from '../../request/destination.ts';
import { errorCode, errorMessage } from '../../runtime/errors.ts';
import { type AddressPolicy, checkIpAddress } from '../../snapshot/addresses/address-policy.ts';
import { parseIpAddress } from '../../snapshot/addresses/addresses.ts';

/** Resolves a name to all of its addresses. Default: `node:dns`; tests use a hostile one. */
export type ResolveName = (
  name: string,
  options: LookupOptions & { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

type Resolved = Parameters<ResolveName>[2];

/**
 * Asks once for all who want the same name at the same time. Node has two threads for names (a half of libuv's four): a name
 * whose server does not answer keeps one of them, however many dials there are, and leaves the other to other names.
 */
export function sharedLookup(resolve: ResolveName = lookup): ResolveName {
  const underWay = new Map<string, Resolved[]>();
  return (name, options, callback) => {
    const key = JSON.stringify([name, options.family, options.hints]);
    const waiting = underWay.get(key);
    if (waiting !== undefined) {
      waiting.push(callback);
      return;
    }
    const callbacks = [callback];
    underWay.set(key, callbacks);
    resolve(name, options, (error, addresses) => {
      underWay.delete(key);
      for (const each of callbacks) each(error, addresses);
    });
  };
}

/** One look-up for all of the process, as Node's threads for names are. */
const resolveName = sharedLookup();

export function refusedAddress(address: string, policy: AddressPolicy): string | undefined {
  // A zone (`fe80::1%eth0`) does not change the kind of the address.
  const ip = parseIpAddress(address.split('%', 1)[0] ?? '');
  return ip === undefined ? 'is not an IP address' : checkIpAddress(ip, policy);
}

/**
 * A `lookup` for sockets that returns only addresses the policy allows, and an error if a name has none. The name was
 * checked with the snapshot; its addresses are checked here, in the same lookup that is dialled, so that the name cannot
 * be pointed elsewhere in between (DNS rebinding; in CVE-2022-3294 the dial did not repeat the check).
 * @param policy `undefined` allows every address: of the local server, which the operator has named
 */
export function guardedLookup(
  policy: AddressPolicy | undefined,
  resolve: ResolveName = resolveName,
): LookupFunction {
  const refusal = (address: string) => policy && refusedAddress(address, policy);
  return (name, options, callback) => {
    resolve(name, { ...options, all: true }, (error, addresses) => {
      if (error !== null) {
        callback(error, '');
        return;
      }
      const allowed = addresses.filter(({ address }) => refusal(address) === undefined);
      const [first] = allowed;
      if (first === undefined) {
        const why = addresses.map(({ address }) => `${address} ${refusal(address)}`).join('; ');
        callback(new Error(`no address of the name may be dialled: ${why}`), '');
      } else if (options.all === true) {
        callback(null, allowed);
      } else {
        callback(null, first.address, first.family);
      }
    });
  };
}

/**
 * Checks the name in a server's certificate: `checkServerIdentity` of every outgoing TLS connection. Only a subjectAltName
 * names a server (RFC 9525 section 6.1), as in Go's crypto/x509, and so in kube-apiserver and kubectl. Without a DNS name
 * Node would accept the Common Name, for which authorities do not enforce the rules of host names.
 *
 * @param name the host name or IP address that the certificate must carry
 * @returns what is wrong with it
 */
export function checkServerIdentity(name: string, certificate: PeerCertificate): Error | undefined {
  const error = checkNames(name, { ...certificate, subject: { ...certificate.subject, CN: '' } });
  if (error === undefined) return undefined;
  const kind = isIP(name) === 0 ? 'DNS' : 'IP';
  // A quoted name of another kind could contain the same text (CVE-2021-44532). Only the message depends on this.
  const isNamed = new RegExp(`(?:^|, )${kind === 'IP' ? 'IP Address' : kind}:`).test(
    certificate.subjectaltname ?? '',
  );
  if (!isNamed) {
    error.message = `its certificate has no ${kind} name in its subjectAltName, and a Common Name is not accepted: issue a certificate with the subjectAltName ${kind}:${name}`;
  }
  return error;
}

/**
 * Codes of a chain that ends in no trusted CA. OpenSSL's choice among them depends on what the server sends of the
 * chain (X509_verify_cert).
 */
const codes: ReadonlySet<string> = new Set([
  'CERT_SIGNATURE_FAILURE',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/**
 * Advice on a connection that failed because the server's certificate is of none of the CAs that are trusted;
 * `undefined` where the connection failed for another reason. Pure.
 * @param authoritiesFrom what names those CAs
 */
export function untrustedCertificateAdvice(error: unknown, authoritiesFrom: string): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (codes.has(errorCode(cause))) return `Its certificate is of another CA: see ${authoritiesFrom}`;
  }
  return undefined;
}

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
  readonly signal?: AbortSignal | undefined;
  /** Receives the bytes without a stream and without a buffer for each piece (`onread` of node:net). */
  readonly onread?: OnReadOpts | undefined;
}

export interface TlsDialerOptions {
  readonly credentials: TransportCredentials;
  /** Milliseconds for name resolution, TCP and TLS. Default 10,000. */
  readonly connectTimeout?: number;
  /** Milliseconds for the TLS handshake alone, from the TCP connection on. Default: within `connectTimeout`. */
  readonly tlsHandshakeTimeout?: number;
  /** For destinations of a snapshot, checked at each dial; the local server's address is configured. Default: every one. */
  readonly addressPolicy?: AddressPolicy;
  /** Default: the system's resolver. */
  readonly resolveName?: ResolveName;
  /** For metrics. Must not throw. */
  readonly onDialFailed?: ((destination: Destination, error: TransportError) => void) | undefined;
}

export class TlsDialer {
  readonly connectTimeout: number;
  readonly #tlsHandshakeTimeout: number | undefined;
  readonly #onDialFailed: TlsDialerOptions['onDialFailed'];
  readonly #addressPolicy: AddressPolicy | undefined;
  readonly #lookup: LookupFunction;
  readonly #localLookup: LookupFunction;
  #credentials: TransportCredentials;
  #contexts: Map<string, SecureContext>;

  constructor(options: TlsDialerOptions) {
    const { credentials, connectTimeout = 10_000, tlsHandshakeTimeout, onDialFailed } = options;
    const { addressPolicy, resolveName: resolve } = options;
    this.#onDialFailed = onDialFailed;
    this.connectTimeout = connectTimeout;
    this.#tlsHandshakeTimeout = tlsHandshakeTimeout;
    this.#addressPolicy = addressPolicy;
    const guarded = (policy?: AddressPolicy): LookupFunction => guardedLookup(policy, resolve);
    this.#localLookup = guarded();
    this.#lookup = guarded(addressPolicy);
    this.#credentials = credentials;
    this.#contexts = peerContexts(credentials);
  }

  /** Credentials of new connections. */
  get credentials(): TransportCredentials {
    return this.#credentials;
  }

  /**
   * For new connections.
   * @throws if a certificate or key cannot be read; the old credentials stay in use then
   */
  update(credentials: TransportCredentials): void {
    this.#contexts = peerContexts(credentials);
    this.#credentials = credentials;
  }

  /** @throws {TransportError} `mayHaveBeenProcessed` is always false: a dial sends no request. */
  dial(options: DialOptions): Promise<TLSSocket> {
    const opening = this.#open(options);
    opening.catch((error: unknown) => {
      if (error instanceof TransportError) this.#onDialFailed?.(options.destination, error);
    });
    return opening;
  }

  async #open(options: DialOptions): Promise<TLSSocket> {
    const { destination, signal } = options;
    const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
    let tcpConnected = false;
    let timedOut = false;
    const socket = this.#connect(options);
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
      const message = `${destination.origin} as ${destination.serverName}: ${errorMessage(error)}`;
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

  /** @throws {TransportError} for an address that may not be dialled */
  #connect(options: DialOptions): TLSSocket {
    const { destination, protocols, onread } = options;
    const { serverName } = destination;
    const { hostname, port } = new URL(destination.origin);
    // URL keeps the brackets of an IPv6 address; sockets need it without.
    const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
    const refusal = this.#refusal(destination, host);
    if (refusal !== undefined) throw refusal;
    return connect({
      host,
      lookup: destination.kind === 'local' ? this.#localLookup : this.#lookup,
      port: port === '' ? 443 : Number(port),
      // The destination's name, never the address or the request's Host. No SNI for an IP address (RFC 6066 section 3),
      // which is still verified below.
      servername: isIP(serverName) === 0 ? serverName : '',
      checkServerIdentity: (_name, certificate) => checkServerIdentity(serverName, certificate),
      rejectUnauthorized: true,
      secureContext: this.#context(options),
      ALPNProtocols: [...protocols],
      ...(onread === undefined ? {} : { onread }),
    })
      .setNoDelay(true)
      .setKeepAlive(true, tcpKeepAliveDelay);
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
    const authorities = trust.kind === 'peer-ca' ? this.#credentials.peerCertificateAuthorities : trust.pem;
    const key = contextKey(presentFrontProxyCertificate, authorities);
    try {
      const context =
        this.#contexts.get(key) ?? newContext(this.#credentials, presentFrontProxyCertificate, authorities);
      this.#contexts.set(key, context);
      return context;
    } catch (cause) {
      throw new TransportError('TLSFailed', `${destination.id}: its CA bundle cannot be read`, {
        mayHaveBeenProcessed: false,
        cause,
      });
    }
  }
}

/** Milliseconds of silence before the kernel sends keep-alive probes. */
export const tcpKeepAliveDelay = 30_000;

function contextKey(withCertificate: boolean, authorities: string): string {
  return `${withCertificate} ${authorities}`;
}

/** Contexts of peers. One more at most is made later: that of a local server with a CA bundle of its own. */
function peerContexts(credentials: TransportCredentials): Map<string, SecureContext> {
  const { peerCertificateAuthorities: authorities } = credentials;
  return new Map(
    [true, false].map((withCertificate) => [
      contextKey(withCertificate, authorities),
      newContext(credentials, withCertificate, authorities),
    ]),
  );
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
