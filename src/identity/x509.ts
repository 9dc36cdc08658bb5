import type { InboundRequest } from '../proxy/inbound.ts';
import type { Authenticator } from './authenticator.ts';
import type { Caller } from './user-info.ts';

/**
 * Client certificates of the cluster's own authority (`--client-ca-file`): the common name is the user, each
 * organization a group, in order (k8s.io/apiserver pkg/authentication/request/x509/x509.go,
 * CommonNameUserConversion). A certificate without a common name identifies nobody.
 */
export class X509Authenticator implements Authenticator {
  readonly name = 'x509';

  authenticate(inbound: InboundRequest): Caller | undefined {
    const certificate = inbound.connection.clientCertificate;
    if (certificate?.authority !== 'client-ca' || certificate.commonName === '') return undefined;
    return {
      kind: 'authenticated',
      user: {
        name: certificate.commonName,
        uid: '',
        groups: certificate.organizations,
        extra: new Map(),
      },
      authenticator: this.name,
      viaVerifiedPeer: false,
    };
  }
}
