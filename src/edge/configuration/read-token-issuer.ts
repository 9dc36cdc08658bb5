import type { TokenIssuer } from './configuration.ts';
import type { EnvironmentReader } from './environment-reader.ts';

/** A module of its own: only a Worker that checks tokens loads it. */
export function readTokenIssuer(reader: EnvironmentReader): TokenIssuer | undefined {
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
