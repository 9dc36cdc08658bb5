import { isIP } from 'node:net';
import { checkServerIdentity as checkNames, type PeerCertificate } from 'node:tls';

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
