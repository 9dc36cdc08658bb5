import { isIssuerName } from '../../identity/assertion/assertion-keys.ts';
import { type IdentityMode, identityModes } from '../../identity/outgoing/identity-token.ts';
import { checkIssuerUrl } from '../../identity/outgoing/oidc-issuer.ts';
import { oidcTokenAlgorithm } from '../../identity/outgoing/sign-oidc-token.ts';
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
    reader.issue('ASSERTION_SIGNING_KEY', 'is required where assertions or OIDC tokens are signed');
  }
  const assertionIssuer = reader.text('ASSERTION_ISSUER') ?? '';
  if (modes.includes('assertion') && assertionIssuer === '') {
    reader.issue('ASSERTION_ISSUER', 'must name this router when ASSERTION_SIGNING_KEY is set');
  } else if (assertionIssuer !== '' && !isIssuerName(assertionIssuer)) {
    reader.issue('ASSERTION_ISSUER', 'must be printable ASCII characters without spaces');
  }
  const oidc = modes.includes('oidc-token') ? readOidc(reader, signing) : undefined;
  return { local, peer, signing: signs ? signing : undefined, assertionIssuer, oidc };
}

function readOidc(reader: EnvironmentReader, signing: LoadedSigningKey | undefined) {
  const issuerUrl = reader.requiredText(
    'OIDC_ISSUER_URL',
    'the issuer that API servers are configured to trust',
  );
  const audience = reader.requiredText('OIDC_AUDIENCE', 'the audience that API servers expect');
  const issue = issuerUrl === undefined ? undefined : checkIssuerUrl(issuerUrl);
  if (issue !== undefined) reader.issue('OIDC_ISSUER_URL', issue);
  if (signing !== undefined && signing.key.alg !== oidcTokenAlgorithm) {
    reader.issue('ASSERTION_SIGNING_KEY', `must be an ${oidcTokenAlgorithm} key for oidc-token`);
  }
  return issuerUrl === undefined || audience === undefined ? undefined : { issuerUrl, audience };
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
