import { exportJWK, type JWK } from 'jose';
import type { AssertionKeySet } from '../../identity/assertion/assertion-keys.ts';
import { identityTokenSigners } from '../../identity/assertion/identity-token-signers.ts';
import { PeerAssertionAuthenticator } from '../../identity/assertion/peer-assertion.ts';
import type { Authenticator } from '../../identity/incoming/authenticator.ts';
import type { IdentityTokenSigners } from '../../identity/outgoing/identity-token.ts';
import { createOidcIssuer, type OidcIssuer } from '../../identity/outgoing/oidc-issuer.ts';
import { oidcTokenAlgorithm } from '../../identity/outgoing/sign-oidc-token.ts';
import type { Logger } from '../../runtime/logger.ts';
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

/**
 * Accepts assertions of the routers whose keys are pinned. Without pinned keys assertions are ignored.
 * @param pinnedKeys called for each assertion; returns the same set until it changes
 */
export function assertionAuthenticator(
  config: ServeConfig,
  pinnedKeys: () => AssertionKeySet,
  logger: Logger,
): Authenticator | undefined {
  const { serverId, destinationIdentity } = config;
  const { oidc } = destinationIdentity;
  // Assertions are addressed to an API server ID, which a gateway does not have.
  if (serverId === undefined) return undefined;
  let pinned: AssertionKeySet = new Map();
  let trusted: AssertionKeySet = new Map();
  const keys = (): AssertionKeySet => {
    const now = pinnedKeys();
    if (now !== pinned) {
      pinned = now;
      // Keys of the OIDC issuer are listed to be published, not to be trusted.
      trusted = new Map([...now].filter(([, { issuer }]) => issuer !== oidc?.issuerUrl));
    }
    return trusted;
  };
  const authenticator = new PeerAssertionAuthenticator({ keys, audience: serverId, logger });
  return {
    name: authenticator.name,
    authenticate: (inbound) => (keys().size === 0 ? undefined : authenticator.authenticate(inbound)),
  };
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
