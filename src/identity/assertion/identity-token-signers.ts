import type { SigningKey } from '../../snapshot/signing/signing-key.ts';
import type { IdentityMode, IdentityTokenSigner, IdentityTokenSigners } from '../outgoing/identity-token.ts';
import { createOidcTokenSigner } from '../outgoing/sign-oidc-token.ts';
import { createAssertionSigner } from './sign-assertion.ts';

export interface IdentityTokenOptions {
  readonly local: IdentityMode;
  readonly peer: IdentityMode;
  /** `undefined` where both modes are `front-proxy`. */
  readonly key: SigningKey | undefined;
  readonly assertionIssuer: string;
  readonly oidc: { readonly issuerUrl: string; readonly audience: string } | undefined;
}

/** Makes the signers for destinations that get the caller's identity in a token. */
export function identityTokenSigners(options: IdentityTokenOptions): IdentityTokenSigners {
  const { local, peer, key, assertionIssuer, oidc } = options;
  const signerFor = (mode: IdentityMode): IdentityTokenSigner | undefined => {
    if (key === undefined || mode === 'front-proxy') return undefined;
    if (mode === 'assertion') return createAssertionSigner({ key, issuer: assertionIssuer });
    return oidc && createOidcTokenSigner({ key, issuer: oidc.issuerUrl, audience: oidc.audience });
  };
  return { local: signerFor(local), peer: signerFor(peer) };
}
