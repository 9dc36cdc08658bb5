import { identityTokenSigners } from '../../identity/assertion/identity-token-signers.ts';
import type { IdentityTokenSigners } from '../../identity/outgoing/identity-token.ts';
import { createOidcIssuer, type OidcIssuer } from '../../identity/outgoing/oidc-issuer.ts';
import type { DestinationIdentityConfiguration } from '../configuration/configuration.ts';

/** What signs for callers, and what publishes the keys; nothing where only the front-proxy certificate is presented. */
export interface Signing {
  readonly identityTokens: IdentityTokenSigners;
  readonly oidcIssuer: OidcIssuer | undefined;
}

/** In a module of its own: only a Worker that signs loads it. */
export function createSigning(identity: DestinationIdentityConfiguration): Signing {
  const { signing, oidc } = identity;
  return {
    identityTokens: identityTokenSigners({ ...identity, key: signing?.key }),
    oidcIssuer: oidc && signing && createOidcIssuer({ url: oidc.issuerUrl, publicKeys: [signing.publicJwk] }),
  };
}
