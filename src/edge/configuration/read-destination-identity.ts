import { isIssuerName } from '../../identity/assertion/assertion-keys.ts';
import { type IdentityMode, identityModes } from '../../identity/outgoing/identity-token.ts';
import { type LoadedSigningKey, loadSigningKey } from '../../snapshot/signing/signing-key.ts';
import type { DestinationIdentityConfiguration } from './configuration.ts';
import type { EnvironmentReader } from './environment-reader.ts';

/** Reads how destinations learn who calls. From the edge, the local server usually is a router, too. */
export async function readDestinationIdentity(
  reader: EnvironmentReader,
): Promise<DestinationIdentityConfiguration> {
  const signing = await readSigningKey(reader, 'ASSERTION_SIGNING_KEY');
  const byDefault: IdentityMode = reader.has('ASSERTION_SIGNING_KEY') ? 'assertion' : 'front-proxy';
  const local = reader.choice('LOCAL_IDENTITY', identityModes) ?? byDefault;
  const peer = reader.choice('PEER_IDENTITY', identityModes) ?? byDefault;
  const modes = [local, peer];
  const signs = modes.some((mode) => mode !== 'front-proxy');
  if (signs && !reader.has('ASSERTION_SIGNING_KEY')) {
    reader.issue('ASSERTION_SIGNING_KEY', 'is required where assertions are signed');
  }
  const assertionIssuer = reader.text('ASSERTION_ISSUER') ?? '';
  if (modes.includes('assertion') && assertionIssuer === '') {
    reader.issue('ASSERTION_ISSUER', 'must name this router when ASSERTION_SIGNING_KEY is set');
  } else if (assertionIssuer !== '' && !isIssuerName(assertionIssuer)) {
    reader.issue('ASSERTION_ISSUER', 'must be printable ASCII characters without spaces');
  }
  return { local, peer, signing: signs ? signing : undefined, assertionIssuer };
}

/** Reads a private key and signs with it once; `undefined` where there is none, or it is unusable. */
export async function readSigningKey(
  reader: EnvironmentReader,
  name: string,
): Promise<LoadedSigningKey | undefined> {
  const text = reader.jsonText(name);
  if (text === undefined) return undefined;
  try {
    return await loadSigningKey(text);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    reader.issue(name, `is unusable: ${error.message}`);
    return undefined;
  }
}
