import { identityTokenSigners } from '../../identity/assertion/identity-token-signers.ts';
import type { IdentityTokenSigners } from '../../identity/outgoing/identity-token.ts';
import type { DestinationIdentityConfiguration } from '../configuration/configuration.ts';

/** What signs for callers; nothing where only the front-proxy certificate is presented. */
export interface Signing {
  readonly identityTokens: IdentityTokenSigners;
}

/** In a module of its own: only a Worker that signs loads it. */
export function createSigning(identity: DestinationIdentityConfiguration): Signing {
  return { identityTokens: identityTokenSigners({ ...identity, key: identity.signing?.key }) };
}
