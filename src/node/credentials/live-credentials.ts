import { ClientCertificateReader } from '../callers/client-certificate.ts';
import type { NodeTransport } from '../destinations/node-transport.ts';
import type { ClientCertificateOf } from '../exchange/node-inbound.ts';
import type { EndpointServer } from '../serving/endpoint-server.ts';
import type { RouterServer } from '../serving/server.ts';
import type { Credentials } from './credentials.ts';

/** What has to be told of other credentials; all others ask for those in use each time. */
export interface CredentialUsers {
  readonly server: Pick<RouterServer, 'setSecureContext'>;
  /** `undefined` where there is no admin address. */
  readonly admin: Pick<EndpointServer, 'setCertificate'> | undefined;
  readonly transport: Pick<NodeTransport, 'updateCredentials'>;
}

/** The credentials in use, replaced whole. */
export class LiveCredentials {
  #current: Credentials;
  #clientCertificates: ClientCertificateReader;

  constructor(first: Credentials) {
    this.#current = first;
    this.#clientCertificates = new ClientCertificateReader(first.clientAuthorities);
  }

  get current(): Credentials {
    return this.#current;
  }

  /** Judges open connections anew as well: a certificate of an authority that is gone yields no identity. */
  readonly clientCertificateOf: ClientCertificateOf = (incoming) => this.#clientCertificates.read(incoming);

  /**
   * Both sides of TLS, or neither.
   *
   * - Clients: new connections are verified by the new CAs, and open ones are judged again.
   * - API servers and peers: where something has changed, new connections use the new CA and pair, and the old ones end
   *   once their requests have (`transport.updateCredentials`).
   * @throws when a certificate or a key cannot be used after all; the old ones stay in use then
   */
  replace(next: Credentials, { server, admin, transport }: CredentialUsers): void {
    const last = this.#current;
    const clientCertificates = new ClientCertificateReader(next.clientAuthorities);
    server.setSecureContext(next.server);
    // A pair that the server has taken.
    admin?.setCertificate(next.admin);
    try {
      const isChanged =
        JSON.stringify(last.transport) !== JSON.stringify(next.transport) ||
        last.localAuthorities !== next.localAuthorities;
      if (isChanged) transport.updateCredentials(next.transport);
    } catch (error) {
      server.setSecureContext(last.server);
      admin?.setCertificate(last.admin);
      throw error;
    }
    this.#current = next;
    this.#clientCertificates = clientCertificates;
  }
}
