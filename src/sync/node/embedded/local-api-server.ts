import type { ServeConfig } from '../../../node/configuration/serve-config.ts';
import type { LocalApiServer } from '../run-sync-options.ts';

/** How the API server behind the router is reached and verified. Pure. */
export function localApiServer(
  { origin, serverName, ca }: NonNullable<ServeConfig['local']>,
  peerCa: ServeConfig['peerCa'],
): Omit<LocalApiServer, 'id'> {
  return {
    origin,
    serverName,
    certificateAuthorities: ca.pem,
    // Without a file of its own it is verified with that of the peers.
    authoritiesFrom: `${ca.path === peerCa?.path ? '--peer-ca-file' : '--local-server-ca-file'} (${ca.path})`,
  };
}
