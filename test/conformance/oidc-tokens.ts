import { handmadeToken, tokenSigner } from '../support/token-signer.ts';
import { oidcSigner } from './credentials.ts';

/** Issuer of the tokens that routers under test are configured for. A name: its keys are told otherwise. */
const oidcIssuerUrl = 'https://issuer.example';
const oidcAudience = 'kubernetes';

/** The variables that make edge routers believe it: `sub` is the user, `groups` are its groups. */
export function tokenVariables(keysUrl: string): Readonly<Record<string, string>> {
  return {
    TOKEN_ISSUER: oidcIssuerUrl,
    TOKEN_AUDIENCE: oidcAudience,
    TOKEN_JWKS_URL: keysUrl,
    TOKEN_GROUPS_CLAIM: 'groups',
  };
}

function claims(sub: string, groups: readonly string[]): Record<string, unknown> {
  const now = Math.floor(Date.now() / 1000);
  return { iss: oidcIssuerUrl, aud: oidcAudience, sub, groups, iat: now - 60, exp: now + 600 };
}

export function bearerTokenOf(sub: string, groups: readonly string[]): Promise<string> {
  return oidcSigner.sign(claims(sub, groups));
}

const stranger = await tokenSigner('oidc-key', 'ES256');

/** Tokens of the issuer, or that say so, with one fault each. */
export async function wrongTokens(): Promise<Readonly<Record<string, string>>> {
  const good = claims('jane', []);
  return {
    expired: await oidcSigner.sign({ ...good, exp: Number(good['iat']) - 60 }),
    'of another audience': await oidcSigner.sign({ ...good, aud: 'somebody-else' }),
    'signed with another key of that name': await stranger.sign(good),
    'without a subject': await oidcSigner.sign({ ...good, sub: undefined }),
    'that never expires': await oidcSigner.sign({ ...good, exp: undefined }),
    'of a user of Kubernetes itself': await oidcSigner.sign({ ...good, sub: 'system:admin' }),
    'of a group of Kubernetes itself': await oidcSigner.sign({ ...good, groups: ['system:masters'] }),
    unsigned: handmadeToken({ alg: 'none' }, good),
  };
}
