import { constants, X509Certificate } from 'node:crypto';
import { type DetailedPeerCertificate, TLSSocket, type TlsOptions } from 'node:tls';
import type { ConnectionInfo, VerifiedClientCertificate } from '../../request/inbound.ts';
import type { RequestCarrier } from '../exchange/node-inbound.ts';
import type { ClientAuthorities } from './client-authorities.ts';
import { findAuthority } from './client-chain.ts';
import { KnownCertificates } from './known-certificates.ts';

/** The part of `ConnectionInfo` that a client certificate decides. Both absent: none was presented. */
export type ClientCertificateInfo = Pick<ConnectionInfo, 'clientCertificate' | 'clientCertificateError'>;

/**
 * Options of a TLS server that asks for client certificates without demanding them, as kube-apiserver does:
 * callers may have tokens instead. Without any authority no certificate is asked for.
 *
 * Node's server takes no intermediate as an anchor: a bundle must reach up to a self-signed certificate.
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
    // Never left out while certificates are asked for: Node would trust the public web's authorities.
    ca: anchors.map((anchor) => anchor.toString()),
    // A ticket keeps the client's certificate but not its intermediates, so that a resumed chain cannot be
    // checked; and it would carry an old verdict past a change of the bundles.
    secureOptions: constants.SSL_OP_NO_TICKET,
  };
}

/** Where a subject holds a UID: Kubernetes' own object identifier, under which Node leaves it. */
const uidAttribute = '1.3.6.1.4.1.57683.2';

interface Verified {
  readonly certificate: VerifiedClientCertificate;
  readonly notBefore: number;
  readonly notAfter: number;
}

/** What one connection's certificate came to; fixed for its life, except that certificates expire. */
type Finding = Verified | { readonly error: string } | 'none';

/**
 * Reads who is behind a connection from its client certificate. Chains are checked once for each connection, and
 * once for all connections with the same certificate where a configured authority has signed it itself; make a new
 * reader when the bundles change, and open connections are judged by the new ones.
 */
export class ClientCertificateReader {
  readonly #authorities: ClientAuthorities;
  readonly #clock: () => number;
  readonly #findings = new WeakMap<object, Finding>();
  readonly #known = new KnownCertificates<Verified>();

  /** @param clock milliseconds since the epoch. Default `Date.now`. */
  constructor(authorities: ClientAuthorities, clock: () => number = Date.now) {
    this.#authorities = authorities;
    this.#clock = clock;
  }

  /** For a request on either protocol, an upgrade included. A connection without TLS carries no certificate. */
  read({ socket }: RequestCarrier): ClientCertificateInfo {
    let finding = this.#findings.get(socket);
    if (finding === undefined) {
      finding = socket instanceof TLSSocket ? this.#examine(socket) : 'none';
      this.#findings.set(socket, finding);
    }
    if (finding === 'none') return {};
    if ('error' in finding) return { clientCertificateError: finding.error };
    // Asked anew for each request, as Kubernetes does: a watch's connection can outlive the certificate.
    const now = this.#clock();
    if (now < finding.notBefore || now > finding.notAfter) {
      return { clientCertificateError: 'the certificate, or one above it, has expired or is not yet valid' };
    }
    return { clientCertificate: finding.certificate };
  }

  #examine(socket: TLSSocket): Finding {
    const leaf = socket.getPeerX509Certificate();
    if (leaf === undefined) return 'none';
    // Also of a known one: only the handshake has seen that the client holds its key.
    if (socket.authorized !== true) {
      // The subject may be anything here: it was signed by whoever made it.
      return { error: `TLS verification failed: ${String(socket.authorizationError)}` };
    }
    const known = this.#known.get(leaf);
    if (known !== undefined) return { ...known, certificate: { ...known.certificate } };
    const presented = socket.getPeerCertificate(true);
    const outcome = findAuthority(chainOf(presented), this.#authorities);
    if ('error' in outcome) return outcome;
    const { authority, intermediates, notBefore, notAfter } = outcome;
    const commonNames = attributeValues(presented.subject.CN);
    // Parsers disagree on which of several counts (Go takes the last).
    if (commonNames.length > 1) return { error: 'the subject has several common names' };
    const uids = attributeValues(presented.subject[uidAttribute]);
    // As servers from 1.33 on, which refuse both (x509.go, parseUIDFromCert).
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

/** The presented certificate, then the issuers that the client sent or the bundles hold. */
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

/** Attribute values as the certificate holds them; their text form would have to be unescaped. */
function attributeValues(attribute: string | readonly string[] | undefined): readonly string[] {
  if (attribute === undefined) return [];
  return typeof attribute === 'string' ? [attribute] : attribute;
}
