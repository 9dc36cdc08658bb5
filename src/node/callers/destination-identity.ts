import { identityTokenSigners } from '../../identity/assertion/identity-token-signers.ts';
import type { IdentityTokenSigners } from '../../identity/outgoing/identity-token.ts';
import type { ServeConfig } from '../configuration/serve-config.ts';

/** The signers for destinations that get the caller's identity in a token. */
export function signersOf({ destinationIdentity }: ServeConfig): IdentityTokenSigners {
  return identityTokenSigners({ ...destinationIdentity, key: destinationIdentity.signingKey?.loaded.key });
}

/** Whether a caller's identity can be asserted to the local server. */
export function canAssertLocally({ destinationIdentity, proxyClient }: ServeConfig): boolean {
  return proxyClient !== undefined || destinationIdentity.local !== 'front-proxy';
}

/** A gateway that has nothing to tell API servers with who calls: callers' own tokens pass through it. */
export function isTokenGateway(
  config: Pick<ServeConfig, 'serverId' | 'destinationIdentity' | 'proxyClient'>,
): boolean {
  const { serverId, destinationIdentity, proxyClient } = config;
  return serverId === undefined && proxyClient === undefined && destinationIdentity.peer === 'front-proxy';
}
