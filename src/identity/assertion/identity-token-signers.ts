import type { SigningKey } from '../../snapshot/signing/signing-key.ts';
import type { IdentityMode, IdentityTokenSigner, IdentityTokenSigners } from '../outgoing/identity-token.ts';
import { createAssertionSigner } from './sign-assertion.ts';

export interface IdentityTokenOptions {
  readonly local: IdentityMode;
  readonly peer: IdentityMode;
  /** `undefined` where both modes are `front-proxy`. */
  readonly key: SigningKey | undefined;
  readonly assertionIssuer: string;
}

/** Makes the signers for destinations that get the caller's identity in a token. */
export function identityTokenSigners(options: IdentityTokenOptions): IdentityTokenSigners {
  const { local, peer, key, assertionIssuer } = options;
  const signerFor = (mode: IdentityMode): IdentityTokenSigner | undefined => {
    if (key === undefined || mode === 'front-proxy') return undefined;
    return createAssertionSigner({ key, issuer: assertionIssuer });
  };
  return { local: signerFor(local), peer: signerFor(peer) };
}
