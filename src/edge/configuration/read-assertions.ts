import * as v from 'valibot';
import { isIssuerName } from '../../identity/assertion/assertion-keys.ts';
import { createAssertionSigner } from '../../identity/assertion/sign-assertion.ts';
import { loadSigningKey } from '../../snapshot/signing/seal.ts';
import type { WorkerConfiguration } from './configuration.ts';
import { type EnvironmentReader, jsonText, text } from './environment-reader.ts';

/** A module of its own: only a Worker that signs loads it. */
export async function readAssertions(reader: EnvironmentReader): Promise<WorkerConfiguration['assertions']> {
  const issuer = reader.required(
    'ASSERTION_ISSUER',
    'the name that destinations have pinned the key for',
    v.pipe(text, v.check(isIssuerName, 'must be printable ASCII characters without spaces')),
  );
  const keyText = reader.read('ASSERTION_SIGNING_KEY', jsonText);
  if (keyText === undefined) return undefined;
  try {
    const key = await loadSigningKey(keyText);
    return issuer === undefined ? undefined : { signer: createAssertionSigner({ key, issuer }), issuer };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return reader.issue('ASSERTION_SIGNING_KEY', `is unusable: ${error.message}`);
  }
}
