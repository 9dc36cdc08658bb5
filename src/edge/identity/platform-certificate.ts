import type { ConnectionInfo } from '../../request/inbound.ts';
import { isJsonObject } from '../../snapshot/format/json-object.ts';
import { type NameAttribute, parseDistinguishedName } from './distinguished-name.ts';

/** What is known of a request's client certificate. */
export type PlatformCertificate = Pick<ConnectionInfo, 'clientCertificate' | 'clientCertificateError'>;

/**
 * The client certificate that Cloudflare has verified for a request (`request.cf.tlsClientAuth`,
 * developers.cloudflare.com/ssl/client-certificates). Verified means: presented, its chain ends in an authority that
 * is set up for the hostname, not revoked. Which authority that is, is the zone's setting and not visible here.
 *
 * @param cf `request.cf`. To be asked only where the platform itself fills it (`CLIENT_CERTIFICATES=cf`).
 */
export function platformCertificate(cf: unknown): PlatformCertificate {
  const tls = isJsonObject(cf) ? cf['tlsClientAuth'] : undefined;
  if (!isJsonObject(tls) || tls['certPresented'] !== '1') return {};
  if (tls['certVerified'] !== 'SUCCESS') {
    return { clientCertificateError: `the platform did not verify it: ${textOf(tls['certVerified'])}` };
  }
  // Revocation is told apart: a revoked certificate is `SUCCESS` all the same.
  if (tls['certRevoked'] !== '0') return { clientCertificateError: 'it is revoked' };
  const subject = tls['certSubjectDNRFC2253'];
  const attributes = typeof subject === 'string' ? parseDistinguishedName(subject) : undefined;
  return attributes === undefined
    ? { clientCertificateError: 'its subject cannot be read without doubt' }
    : subjectOf(attributes, sha256Of(tls));
}

/** `undefined` where the platform's field is not what it documents. */
function sha256Of(tls: Readonly<Record<string, unknown>>): string | undefined {
  const fingerprint = tls['certFingerprintSHA256'];
  return typeof fingerprint === 'string' && /^[0-9a-f]{64}$/i.test(fingerprint)
    ? fingerprint.toLowerCase()
    : undefined;
}

function subjectOf(attributes: readonly NameAttribute[], sha256: string | undefined): PlatformCertificate {
  const commonNames = valuesOf(attributes, 'CN');
  // Kubernetes takes the last one of the certificate; other readers take the first.
  if (commonNames.length > 1) return { clientCertificateError: 'its subject has more than one common name' };
  return {
    clientCertificate: {
      commonName: commonNames[0] ?? '',
      // The text begins with the certificate's last attribute (RFC 4514 section 2.1).
      organizations: valuesOf(attributes, 'O').reverse(),
      ...(sha256 !== undefined && { sha256 }),
      authority: 'client-ca',
    },
  };
}

function valuesOf(attributes: readonly NameAttribute[], type: string): string[] {
  return attributes.filter((attribute) => attribute.type === type).map(({ value }) => value);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 100) : 'without a result';
}
