import { PeerAssertionAuthenticator } from '../../identity/assertion/peer-assertion.ts';
import { createAssertionSigner } from '../../identity/assertion/sign-assertion.ts';
import type { Authenticator } from '../../identity/authenticator.ts';
import type {
  IdentityMode,
  IdentityTokenSigner,
  IdentityTokenSigners,
} from '../../identity/identity-token.ts';
import { CachedKeys } from '../../identity/jwt/cached-keys.ts';
import type { FetchDocument } from '../../identity/jwt/fetch-document.ts';
import { JwtAuthenticator } from '../../identity/jwt/jwt-authenticator.ts';
import { externalIssuer } from '../../identity/jwt/token-issuer.ts';
import { createOidcTokenSigner } from '../../identity/oidc-token/sign-oidc-token.ts';
import type { Logger } from '../../runtime/logger.ts';
import type {
  DestinationIdentityConfiguration,
  WorkerConfiguration,
} from '../configuration/configuration.ts';
import { loadKeysOf } from '../identity/callers.ts';

/**
 * How callers are established: by what is signed, and by nothing else. `Deno.serve` can ask for no client
 * certificate, so there is no connection whose word would count.
 */
export function denoAuthenticators(
  { callers, local }: Pick<WorkerConfiguration, 'callers' | 'local'>,
  fetchDocument: FetchDocument,
  logger: Logger,
): readonly Authenticator[] {
  const { assertionKeys, issuers } = callers;
  const authenticators: Authenticator[] = [];
  // Without a local server there is no ID that an assertion could be addressed to.
  if (assertionKeys !== undefined && local !== undefined) {
    authenticators.push(
      new PeerAssertionAuthenticator({ keys: () => assertionKeys, audience: local.serverId, logger }),
    );
  }
  if (issuers.length > 0) {
    const tokenIssuers = issuers.map((each) => {
      const keys = new CachedKeys({ issuer: each.issuer, load: loadKeysOf(each, fetchDocument), logger });
      return externalIssuer(each.issuer, keys, each.policy);
    });
    authenticators.push(new JwtAuthenticator({ issuers: tokenIssuers, logger }));
  }
  return authenticators;
}

/** Who signs for destinations that are told by a token who calls. */
export function denoIdentityTokens(identity: DestinationIdentityConfiguration): IdentityTokenSigners {
  const { signing, assertionIssuer, oidc } = identity;
  const signerFor = (mode: IdentityMode): IdentityTokenSigner | undefined => {
    if (signing === undefined || mode === 'front-proxy') return undefined;
    const { key } = signing;
    if (mode === 'assertion') return createAssertionSigner({ key, issuer: assertionIssuer });
    return oidc && createOidcTokenSigner({ key, issuer: oidc.issuerUrl, audience: oidc.audience });
  };
  return { local: signerFor(identity.local), peer: signerFor(identity.peer) };
}
