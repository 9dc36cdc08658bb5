import type { InboundRequest, VerifiedClientCertificate } from '../request/inbound.ts';
import type { Caller } from '../request/user-info.ts';
import type { Authenticator } from './authenticator.ts';

/** Names the credential that a caller used (k8s.io/apiserver pkg/authentication/user, CredentialIDKey). */
const credentialIdKey = 'authentication.kubernetes.io/credential-id';

/**
 * Client certificates of `--client-ca-file`: the common name is the user, each organization a group (k8s.io/apiserver
 * pkg/authentication/request/x509/x509.go). A certificate without a common name identifies no user. UID and credential ID are
 * what servers from 1.33 and 1.32 on make of the same certificate.
 */
export class X509Authenticator implements Authenticator {
  readonly name = 'x509';
  readonly #callers = new WeakMap<VerifiedClientCertificate, Caller>();

  authenticate(inbound: InboundRequest): Caller | undefined {
    const certificate = inbound.connection.clientCertificate;
    if (certificate?.authority !== 'client-ca' || certificate.commonName === '') return undefined;
    const known = this.#callers.get(certificate);
    if (known !== undefined) return known;
    const { sha256 } = certificate;
    // Frozen, so that what is made of it can be remembered (`askAuthenticators`).
    const caller: Caller = Object.freeze({
      kind: 'authenticated',
      user: Object.freeze({
        name: certificate.commonName,
        uid: certificate.uid ?? '',
        groups: certificate.organizations,
        extra: new Map(sha256 === undefined ? [] : [[credentialIdKey, [`X509SHA256=${sha256}`]]]),
      }),
      authenticator: this.name,
      viaVerifiedPeer: false,
    });
    this.#callers.set(certificate, caller);
    return caller;
  }
}
