import { parseAssertionKeys } from '../../identity/assertion/assertion-keys.ts';
import { describeIssues } from '../../snapshot/format/issues.ts';
import type { DurableObjectNamespace } from '../platform/bindings.ts';
import type { CallerMethods, TokenIssuer } from './configuration.ts';
import type { EnvironmentReader } from './environment-reader.ts';

/**
 * Reads how callers are established.
 * @param serverId what assertions of other routers must be meant for; `undefined` in the gateway form, which has no ID
 *   that one could be addressed to
 */
export async function readCallers(
  reader: EnvironmentReader,
  serverId: string | undefined,
): Promise<CallerMethods> {
  const certificates = reader.choice('CLIENT_CERTIFICATES', ['none', 'cf']);
  return {
    assertion: await readAssertion(reader, serverId),
    certificate: certificates === 'cf' ? certificates : undefined,
    token: readTokenIssuer(reader),
  };
}

const tokenVariables = [
  'TOKEN_ISSUER',
  'TOKEN_AUDIENCE',
  'TOKEN_JWKS_URL',
  'TOKEN_USERNAME_CLAIM',
  'TOKEN_GROUPS_CLAIM',
];

/** All that is needed, or nothing of it. */
function readTokenIssuer(reader: EnvironmentReader): TokenIssuer | undefined {
  if (!tokenVariables.some((name) => reader.has(name))) return undefined;
  const issuer = reader.requiredText('TOKEN_ISSUER', 'the iss of tokens');
  const audience = reader.requiredText('TOKEN_AUDIENCE', 'the aud of tokens that are meant for this router');
  const url = reader.requiredText('TOKEN_JWKS_URL', 'where the issuer publishes its keys');
  const keysUrl = url !== undefined && URL.canParse(url) ? new URL(url) : undefined;
  if (url !== undefined && keysUrl?.protocol !== 'https:') {
    reader.issue('TOKEN_JWKS_URL', 'must be an https URL');
  }
  const usernameClaim = reader.text('TOKEN_USERNAME_CLAIM') ?? 'sub';
  const groupsClaim = reader.text('TOKEN_GROUPS_CLAIM');
  if (issuer === undefined || audience === undefined || keysUrl === undefined) return undefined;
  return { issuer, audience, keysUrl, usernameClaim, groupsClaim };
}

async function readAssertion(
  reader: EnvironmentReader,
  audience: string | undefined,
): Promise<CallerMethods['assertion']> {
  const nonces = reader.binding<DurableObjectNamespace>('REPLAY_OBJECT', ['idFromName', 'get']);
  const text = reader.jsonText('ASSERTION_KEYS');
  if (text === undefined) return undefined;
  const parsed = await parseAssertionKeys(text);
  if (!parsed.ok) {
    reader.issue('ASSERTION_KEYS', `is unusable: ${describeIssues(parsed.issues)}`);
    return undefined;
  }
  return audience === undefined ? undefined : { keys: parsed.keys, audience, nonces };
}
