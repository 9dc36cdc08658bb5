import { exportJWK, type JWK } from 'jose';
import type { AssertionKeySet } from '../../identity/assertion/assertion-keys.ts';
import { identityTokenSigners } from '../../identity/assertion/identity-token-signers.ts';
import type { IdentityTokenSigners } from '../../identity/outgoing/identity-token.ts';
import { createOidcIssuer, type OidcIssuer } from '../../identity/outgoing/oidc-issuer.ts';
import { oidcTokenAlgorithm } from '../../identity/outgoing/sign-oidc-token.ts';
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

/** The OIDC discovery documents for tokens that are signed here; `undefined` without an issuer. */
export async function oidcIssuer(
  { destinationIdentity }: ServeConfig,
  assertionKeys: AssertionKeySet,
): Promise<OidcIssuer | undefined> {
  const { oidc, signingKey } = destinationIdentity;
  if (oidc === undefined || signingKey === undefined) return undefined;
  const { publicJwk } = signingKey.loaded;
  // Its keys before and after a rotation, and those of other routers that sign under the same issuer.
  const others: JWK[] = [];
  for (const { kid, alg, issuer, publicKey } of assertionKeys.values()) {
    if (issuer !== oidc.issuerUrl || kid === publicJwk.kid || alg !== oidcTokenAlgorithm) continue;
    others.push({ ...(await exportJWK(publicKey)), kid, alg, use: 'sig' });
  }
  return createOidcIssuer({ url: oidc.issuerUrl, publicKeys: [publicJwk, ...others] });
}
