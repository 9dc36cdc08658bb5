import * as v from 'valibot';
import type { TokenIssuer } from './configuration.ts';
import { type EnvironmentReader, text } from './environment-reader.ts';

const httpsUrl = v.pipe(
  text,
  v.check((url) => URL.canParse(url) && new URL(url).protocol === 'https:', 'must be an https URL'),
);

/** A module of its own: only a Worker that checks tokens loads it. */
export function readTokenIssuer(reader: EnvironmentReader): TokenIssuer | undefined {
  const issuer = reader.required('TOKEN_ISSUER', 'the iss of tokens', text);
  const audience = reader.required(
    'TOKEN_AUDIENCE',
    'the aud of tokens that are meant for this router',
    text,
  );
  const url = reader.required('TOKEN_JWKS_URL', 'where the issuer publishes its keys', httpsUrl);
  const usernameClaim = reader.read('TOKEN_USERNAME_CLAIM', text) ?? 'sub';
  const groupsClaim = reader.read('TOKEN_GROUPS_CLAIM', text);
  if (issuer === undefined || audience === undefined || url === undefined) return undefined;
  return { issuer, audience, keysUrl: new URL(url), usernameClaim, groupsClaim };
}
