import type { EndpointServer } from '../endpoint-server.ts';
import type { NodeTransport } from '../node-transport.ts';
import type { RouterServer } from '../server.ts';

/** What has to take new certificates into use. */
export interface CredentialUsers {
  readonly server: Pick<RouterServer, 'setSecureContext'>;
  /** Left out where there is no admin address. */
  readonly admin: Pick<EndpointServer, 'setCertificate'> | undefined;
  readonly transport: Pick<NodeTransport, 'updateCredentials'>;
}
