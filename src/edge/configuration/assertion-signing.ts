import type { AssertionSigner } from '../../identity/assertion/assertion-signer.ts';
import { createAssertionSigner } from '../../identity/assertion/sign-assertion.ts';
import { loadSigningKey } from '../../snapshot/signing/seal.ts';

/**
 * A module of its own: only a Worker that signs loads it.
 * @throws {TypeError} saying what is wrong with the key; never quoting it
 */
export async function loadAssertionSigner(privateJwk: string, issuer: string): Promise<AssertionSigner> {
  return createAssertionSigner({ key: await loadSigningKey(privateJwk), issuer });
}
