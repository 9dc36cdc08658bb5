import { constants, X509Certificate } from 'node:crypto';
import { type DetailedPeerCertificate, type PeerCertificate, TLSSocket, type TlsOptions } from 'node:tls';
import type { ConnectionInfo, VerifiedClientCertificate } from '../../request/inbound.ts';
import type { RequestCarrier } from '../exchange/node-inbound.ts';
import { CertificatePemError, parseCertificates, subjectOf } from './pem-files.ts';

export interface ClientAuthorities {
  /** `--client-ca-file`: issues certificates of users. */
  readonly clientCa: readonly X509Certificate[];
  /** `--requestheader-client-ca-file`: issues certificates of front proxies, which assert the identities of users. */
  readonly requestHeaderCa: readonly X509Certificate[];
}

/**
 * Parses the configured PEM bundles. A bundle that is not configured is empty: no certificate descends from it.
 * @throws {CertificatePemError} for a bundle without certificates, with an invalid one, or with an authority of the other
 *
 * @example
 * ```ts
 * const authorities = readClientAuthorities({ clientCa: certificateAuthorities });
 * console.log(authorities.clientCa.length, authorities.requestHeaderCa.length); // 1 0
 * ```
 */
export function readClientAuthorities(bundles: {
  readonly clientCa?: string | undefined;
  readonly requestHeaderCa?: string | undefined;
}): ClientAuthorities {
  const { clientCa, requestHeaderCa } = bundles;
  const authorities = {
    clientCa: parse(clientCa, '--client-ca-file'),
    requestHeaderCa: parse(requestHeaderCa, '--requestheader-client-ca-file'),
  };
  const shared = sharedAuthority(authorities);
  if (shared === undefined) return authorities;
  throw new CertificatePemError(
    'SharedAuthority',
    `the authority "${subjectOf(shared)}" is in both --client-ca-file and --requestheader-client-ca-file, ` +
      'so that users could pass as front proxies: issue the front-proxy certificates from an authority of their own',
  );
}

/**
 * An authority that is in both bundles; `undefined` if there is none. With one, every user whose common name is allowed
 * (or any user, if the list of allowed names is empty) could act as a front proxy and assert any identity (1.24 audit,
 * kubernetes/kubernetes#118980). A renewed certificate with the same key is the same authority.
 */
export function sharedAuthority({
  clientCa,
  requestHeaderCa,
}: ClientAuthorities): X509Certificate | undefined {
  return requestHeaderCa.find((each) => clientCa.some((other) => other.publicKey.equals(each.publicKey)));
}

function parse(pem: string | undefined, source: string): readonly X509Certificate[] {
  return pem === undefined ? [] : parseCertificates({ pem, source });
}

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
    // and it would keep an old result after a change of the bundles. On TLS 1.3 two that cannot be resumed are sent all the
    // same: Node does not offer SSL_CTX_set_num_tickets.
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

/** More than the users and nodes that reconnect often; each takes a few hundred bytes. */
const maximumKnown = 1_024;

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
  /**
   * By SHA-256, only of certificates that a configured authority signed directly: with an intermediate the result depends
   * on the chain that a client sent, and another connection may not send it.
   */
  readonly #known = new Map<string, Verified>();

  /** @param clock milliseconds since the epoch. Default `Date.now` */
  constructor(authorities: ClientAuthorities, clock: () => number = Date.now) {
    this.#authorities = authorities;
    this.#clock = clock;
  }

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
    // Without what came behind it: `getPeerX509Certificate` keeps all that a client sent, until garbage is collected, and V8
    // knows nothing of its size.
    const leaf: PeerCertificate | null = socket.getPeerCertificate();
    if (leaf?.raw === undefined) return 'none';
    // Also for a known certificate: only the handshake proves that the client has its key.
    if (socket.authorized !== true) {
      // The subject is not reported: the client may have chosen it.
      return { error: `TLS verification failed: ${String(socket.authorizationError)}` };
    }
    const known = this.#known.get(leaf.fingerprint256);
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
    // The handshake proves the key each time. Beyond so many different ones the first cost a request again.
    if (intermediates === 0) {
      if (this.#known.size >= maximumKnown) this.#known.clear();
      this.#known.set(leaf.fingerprint256, finding);
    }
    return finding;
  }
}

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

function attributeValues(attribute: string | readonly string[] | undefined): readonly string[] {
  if (attribute === undefined) return [];
  return typeof attribute === 'string' ? [attribute] : attribute;
}

type ChainOutcome =
  | {
      readonly authority: VerifiedClientCertificate['authority'];
      readonly intermediates: number;
      /** Milliseconds since the epoch: the time in which all certificates of the chain are valid. */
      readonly notBefore: number;
      readonly notAfter: number;
    }
  | { readonly error: string };

/** More than any real chain; bounds the signatures that one handshake can cause. */
const maximumChainLength = 10;

/**
 * Finds the configured authority that a client certificate descends from, the nearest one first.
 *
 * OpenSSL verified the chain in the handshake, but against both bundles together, and it does not report where the chain
 * ended. So every link is checked again: the issuer's name, the signature, and whether an intermediate of the client may
 * issue certificates. Names alone never decide.
 * @param chain the client's certificate, then each issuer, as far as known
 */
export function findAuthority(
  chain: readonly X509Certificate[],
  authorities: ClientAuthorities,
): ChainOutcome {
  const [leaf] = chain;
  if (leaf === undefined) return { error: 'no client certificate' };
  if (!allowsClientAuthentication(leaf)) {
    return { error: 'the certificate is not meant for client authentication (extended key usage)' };
  }
  let notBefore = leaf.validFromDate.getTime();
  let notAfter = leaf.validToDate.getTime();
  const narrow = (certificates: readonly X509Certificate[]): void => {
    notBefore = Math.max(notBefore, Math.min(...certificates.map((each) => each.validFromDate.getTime())));
    notAfter = Math.min(notAfter, Math.max(...certificates.map((each) => each.validToDate.getTime())));
  };

  for (let depth = 0; depth < Math.min(chain.length, maximumChainLength); depth++) {
    const certificate = chain[depth] as X509Certificate;
    const client = authorities.clientCa.filter((anchor) => descendsFrom(certificate, anchor));
    const requestHeader = authorities.requestHeaderCa.filter((anchor) => descendsFrom(certificate, anchor));
    if (client.length > 0 && requestHeader.length > 0) {
      // The check at start refuses such authorities, but an authority may present its own certificate.
      return { error: 'the certificate descends from authorities of both bundles' };
    }
    // Several if a bundle has a renewed authority and the old one.
    const anchors = [...client, ...requestHeader];
    if (anchors.length > 0) {
      narrow(anchors);
      const authority = client.length > 0 ? 'client-ca' : 'requestheader-client-ca';
      return { authority, intermediates: depth, notBefore, notAfter };
    }
    const issuer = chain[depth + 1];
    if (issuer === undefined) break;
    if (!issuer.ca || !allowsClientAuthentication(issuer) || !isIssuedBy(certificate, issuer)) {
      return { error: 'an intermediate certificate may not have issued the one below it' };
    }
    narrow([issuer]);
  }
  return { error: 'the certificate does not descend from a configured authority' };
}

function descendsFrom(certificate: X509Certificate, anchor: X509Certificate): boolean {
  return certificate.raw.equals(anchor.raw) || isIssuedBy(certificate, anchor);
}

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

const clientAuthentication = '1.3.6.1.5.5.7.3.2';
const anyExtendedKeyUsage = '2.5.29.37.0';

/**
 * RFC 5280 section 4.2.1.12, as Go's crypto/x509 applies it, at every link below the authority: without the
 * extension any usage is allowed. (OpenSSL itself refuses certificates that carry anyExtendedKeyUsage only.)
 * Node's `keyUsage` is the extended key usage.
 */
function allowsClientAuthentication(certificate: X509Certificate): boolean {
  const usages: readonly string[] | undefined = certificate.keyUsage;
  return (
    usages === undefined || usages.includes(clientAuthentication) || usages.includes(anyExtendedKeyUsage)
  );
}
