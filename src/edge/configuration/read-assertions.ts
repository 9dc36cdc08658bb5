import { isIssuerName } from '../../identity/assertion/assertion-keys.ts';
import { createAssertionSigner } from '../../identity/assertion/sign-assertion.ts';
import { loadSigningKey } from '../../snapshot/signing/seal.ts';
import type { WorkerConfiguration } from './configuration.ts';
import type { EnvironmentReader } from './environment-reader.ts';

/** A module of its own: only a Worker that signs loads it. */
export async function readAssertions(reader: EnvironmentReader): Promise<WorkerConfiguration['assertions']> {
  const issuer = reader.requiredText(
    'ASSERTION_ISSUER',
    'the name that destinations have pinned the key for',
  );
  if (issuer !== undefined && !isIssuerName(issuer)) {
    reader.issue('ASSERTION_ISSUER', 'must be printable ASCII characters without spaces');
  }
  const text = reader.jsonText('ASSERTION_SIGNING_KEY');
  if (text === undefined) return undefined;
  try {
    const key = await loadSigningKey(text);
    return issuer === undefined ? undefined : { signer: createAssertionSigner({ key, issuer }), issuer };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    reader.issue('ASSERTION_SIGNING_KEY', `is unusable: ${error.message}`);
    return undefined;
  }
}
