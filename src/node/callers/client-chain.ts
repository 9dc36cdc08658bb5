import type { X509Certificate } from 'node:crypto';
import type { VerifiedClientCertificate } from '../../request/inbound.ts';
import type { ClientAuthorities } from './client-authorities.ts';

/** The authority of a client's chain, or why the chain is invalid. */
export type ChainOutcome =
  | {
      readonly authority: VerifiedClientCertificate['authority'];
      /** Certificates between the client's and the authority's. */
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
  /** Narrows the span to one in which at least one of `certificates` is valid. */
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

/** Whether `certificate` is the anchor itself, byte for byte, or carries its signature. */
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
