import { isIP } from 'node:net';
import { checkServerIdentity as checkNames, type PeerCertificate } from 'node:tls';

/**
 * Whether a server is who it should be, by the names in its certificate: `checkServerIdentity` of every TLS connection
 * that leaves from here. Only a subjectAltName names a server (RFC 9525 section 6.1), as for Go's crypto/x509, and so
 * for kube-apiserver and kubectl. Node would take the Common Name for a host's where there is no DNS name, which
 * authorities do not hold to the rules of host names.
 *
 * @param name the host name or IP address that the certificate must carry
 * @returns what is wrong with it
 */
export function checkServerIdentity(name: string, certificate: PeerCertificate): Error | undefined {
  const error = checkNames(name, { ...certificate, subject: { ...certificate.subject, CN: '' } });
  if (error === undefined) return undefined;
  const kind = isIP(name) === 0 ? 'DNS' : 'IP';
  // Quoted, a name of another kind could hold the same text (CVE-2021-44532): the words are all that hangs on it.
  const isNamed = new RegExp(`(?:^|, )${kind === 'IP' ? 'IP Address' : kind}:`).test(
    certificate.subjectaltname ?? '',
  );
  if (!isNamed) {
    error.message = `its certificate has no ${kind} name in its subjectAltName, and a Common Name is not taken for one: issue a certificate with the subjectAltName ${kind}:${name}`;
  }
  return error;
}
