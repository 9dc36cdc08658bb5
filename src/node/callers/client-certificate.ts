import { constants, X509Certificate } from 'node:crypto';
import { type DetailedPeerCertificate, TLSSocket, type TlsOptions } from 'node:tls';
import type { ConnectionInfo, VerifiedClientCertificate } from '../../request/inbound.ts';
import type { RequestCarrier } from '../exchange/node-inbound.ts';
import type { ClientAuthorities } from './client-authorities.ts';
import { findAuthority } from './client-chain.ts';

/** The result for a client certificate. Both absent: none was presented. */
export type ClientCertificateInfo = Pick<ConnectionInfo, 'clientCertificate' | 'clientCertificateError'>;

/**
 * Options of a TLS server that requests client certificates without requiring them, as kube-apiserver does: callers may
 * have tokens instead. Without authorities no certificate is requested.
 *
 * Node's server accepts no intermediate as an anchor: a bundle must include the self-signed root.
 *
 * @example
 * ```ts
 * const authorities = readClientAuthorities({ clientCa: certificateAuthorities });
 * const server = createServer({ cert, key, ...clientCertificateTlsOptions(authorities) });
 * ```
 */
export function clientCertificateTlsOptions(
  authorities: ClientAuthorities,
): Pick<TlsOptions, 'requestCert' | 'rejectUnauthorized' | 'ca' | 'secureOptions'> {
  const anchors = [...authorities.clientCa, ...authorities.requestHeaderCa];
  if (anchors.length === 0) return { requestCert: false };
  return {
    requestCert: true,
    rejectUnauthorized: false,
    // Always set while certificates are requested: otherwise Node would trust the authorities of the public web.
    ca: anchors.map((anchor) => anchor.toString()),
    // A session ticket has the client's certificate without its intermediates, so a resumed chain could not be checked;
    // and it would keep an old result after a change of the bundles.
    secureOptions: constants.SSL_OP_NO_TICKET,
  };
}

/** Kubernetes' object identifier of the UID in a subject; Node has no name for it. */
const uidAttribute = '1.3.6.1.4.1.57683.2';

interface Verified {
  readonly certificate: VerifiedClientCertificate;
  readonly notBefore: number;
  readonly notAfter: number;
}

/** The result for one connection. It stays the same, except that certificates expire. */
type Finding = Verified | { readonly error: string } | 'none';

/**
 * Reads the verified client certificate of a connection. The chain is checked once for each connection; a certificate that
 * a configured authority signed directly is checked once for all connections. When the bundles change, a new reader
 * checks open connections again.
 */
export class ClientCertificateReader {
  readonly #authorities: ClientAuthorities;
  readonly #clock: () => number;
  readonly #findings = new WeakMap<object, Finding>();
  readonly #known = new KnownCertificates<Verified>();

  /** @param clock milliseconds since the epoch. Default `Date.now` */
  constructor(authorities: ClientAuthorities, clock: () => number = Date.now) {
    this.#authorities = authorities;
    this.#clock = clock;
  }

  /** For requests and upgrades of either protocol. A connection without TLS has no certificate. */
  read({ socket }: RequestCarrier): ClientCertificateInfo {
    let finding = this.#findings.get(socket);
    if (finding === undefined) {
      finding = socket instanceof TLSSocket ? this.#examine(socket) : 'none';
      this.#findings.set(socket, finding);
    }
    if (finding === 'none') return {};
    if ('error' in finding) return { clientCertificateError: finding.error };
    // Checked for each request, as in Kubernetes: a connection may outlive the certificate.
    const now = this.#clock();
    if (now < finding.notBefore || now > finding.notAfter) {
      return { clientCertificateError: 'the certificate, or one above it, has expired or is not yet valid' };
    }
    return { clientCertificate: finding.certificate };
  }

  #examine(socket: TLSSocket): Finding {
    const leaf = socket.getPeerX509Certificate();
    if (leaf === undefined) return 'none';
    // Also for a known certificate: only the handshake proves that the client has its key.
    if (socket.authorized !== true) {
      // The subject is not reported: the client may have chosen it.
      return { error: `TLS verification failed: ${String(socket.authorizationError)}` };
    }
    const known = this.#known.get(leaf);
    if (known !== undefined) return { ...known, certificate: { ...known.certificate } };
    const presented = socket.getPeerCertificate(true);
    const outcome = findAuthority(chainOf(presented), this.#authorities);
    if ('error' in outcome) return outcome;
    const { authority, intermediates, notBefore, notAfter } = outcome;
    const commonNames = attributeValues(presented.subject.CN);
    // Parsers disagree which of several counts (Go: the last).
    if (commonNames.length > 1) return { error: 'the subject has several common names' };
    const uids = attributeValues(presented.subject[uidAttribute]);
    // Servers from 1.33 on refuse both (x509.go, parseUIDFromCert).
    if (uids.length > 1 || uids[0] === '') return { error: 'the subject has several UIDs, or an empty one' };
    const certificate: VerifiedClientCertificate = {
      commonName: commonNames[0] ?? '',
      organizations: attributeValues(presented.subject.O),
      ...(uids[0] !== undefined && { uid: uids[0] }),
      sha256: presented.fingerprint256.replaceAll(':', '').toLowerCase(),
      authority,
    };
    const finding = { certificate, notBefore, notAfter };
    if (intermediates === 0) this.#known.set(leaf, finding);
    return finding;
  }
}

/** The presented certificate, then the issuers that the client sent or that are in the bundles. */
function chainOf(presented: DetailedPeerCertificate): X509Certificate[] {
  const chain: X509Certificate[] = [];
  const seen = new Set<DetailedPeerCertificate>();
  let current: DetailedPeerCertificate | undefined = presented;
  // A self-signed certificate is its own issuer.
  while (current?.raw !== undefined && !seen.has(current)) {
    seen.add(current);
    chain.push(new X509Certificate(current.raw));
    current = current.issuerCertificate;
  }
  return chain;
}

/** The unescaped values of an attribute. */
function attributeValues(attribute: string | readonly string[] | undefined): readonly string[] {
  if (attribute === undefined) return [];
  return typeof attribute === 'string' ? [attribute] : attribute;
}

/** More than the users and nodes that reconnect often; each takes a few hundred bytes. */
const defaultMaximum = 1_024;

/**
 * A cache of results for certificates that a configured authority signed directly, by SHA-256.
 *
 * Only for those: with an intermediate the result depends on the chain that a client sent, and another connection may not
 * send it. And only for connections whose handshake succeeded: that proves that the client has the key, and that the
 * certificate has not expired.
 */
export class KnownCertificates<Finding> {
  readonly #maximum: number;
  /** Oldest first. */
  readonly #findings = new Map<string, Finding>();

  constructor(maximum: number = defaultMaximum) {
    this.#maximum = maximum;
  }

  get(certificate: X509Certificate): Finding | undefined {
    return this.#findings.get(certificate.fingerprint256);
  }

  set(certificate: X509Certificate, finding: Finding): void {
    if (this.#findings.size >= this.#maximum) {
      const [oldest] = this.#findings.keys();
      if (oldest !== undefined) this.#findings.delete(oldest);
    }
    this.#findings.set(certificate.fingerprint256, finding);
  }
}
