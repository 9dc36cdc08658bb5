import { tokenSigner } from '../support/token-signer.ts';
import { oidcSigner } from './credentials.ts';

/** Issuer of the tokens that routers under test are configured for. A name: its keys are told otherwise. */
const oidcIssuerUrl = 'https://issuer.example';
const oidcAudience = 'kubernetes';

/** Members of `AuthenticationConfiguration` that make `sub` and `groups` the user, both prefixed. */
const claimMappings = {
  username: { claim: 'sub', prefix: 'oidc:' },
  groups: { claim: 'groups', prefix: 'oidc:' },
};

/** The AuthenticationConfiguration that makes routers believe it. */
export function authenticationConfiguration(keysUrl: string): string {
  return JSON.stringify({
    apiVersion: 'mixed-version-proxy/v1alpha1',
    kind: 'AuthenticationConfiguration',
    jwt: [
      {
        issuer: {
          url: oidcIssuerUrl,
          audiences: [oidcAudience],
          jwksURL: keysUrl,
        },
        claimMappings,
      },
    ],
  });
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
  };
}
