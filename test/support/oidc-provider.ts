import type { TestContext } from 'node:test';
import type { Authority } from './certificates.ts';
import { httpsServer } from './https-server.ts';
import type { TokenSigner } from './token-signer.ts';

/** An OpenID Connect provider on loopback, over TLS, whose keys a test changes. */
export interface OidcProvider {
  readonly issuer: string;
  signers: readonly TokenSigner[];
  /** Answers 503 to everything while it is set. */
  isDown: boolean;
  /** The paths that were asked for, in order. */
  readonly asked: string[];
}

export async function oidcProvider(
  context: TestContext,
  authority: Authority,
  ...signers: readonly TokenSigner[]
): Promise<OidcProvider> {
  const serving = await authority.issue({ commonName: 'issuer', dnsNames: ['localhost'], usage: 'server' });
  const asked: string[] = [];
  const tls = { cert: serving.chain, key: serving.privateKey };
  const { port } = await httpsServer(context, tls, (request, response) => {
    const path = request.url ?? '';
    asked.push(path);
    const documents: Readonly<Record<string, unknown>> = {
      '/.well-known/openid-configuration': { issuer: provider.issuer, jwks_uri: `${provider.issuer}/keys` },
      '/keys': { keys: provider.signers.map(({ publicJwk }) => publicJwk) },
    };
    const document = provider.isDown ? undefined : documents[path];
    response.statusCode = provider.isDown ? 503 : document === undefined ? 404 : 200;
    response.end(JSON.stringify(document));
  });
  const provider: OidcProvider = { issuer: `https://localhost:${port}`, signers, isDown: false, asked };
  return provider;
}
