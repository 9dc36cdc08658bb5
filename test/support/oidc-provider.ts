import type { TestContext } from 'node:test';
import type { Authority, CertificatePair } from './certificates.ts';
import { openHttpsServer } from './https-server.ts';
import type { TokenSigner } from './token-signer.ts';

/** An OpenID Connect provider on loopback, over TLS, whose keys a test changes. */
export interface OidcProvider {
  /** `https://localhost:port`. */
  readonly issuer: string;
  /** Where its keys are. */
  readonly keysUrl: string;
  signers: readonly TokenSigner[];
  /** Answers 503 to everything while it is set. */
  isDown: boolean;
  /** The paths that were asked for, in order. */
  readonly asked: string[];
  close(): Promise<void>;
}

/** @param serving good for localhost */
export async function openOidcProvider(
  serving: CertificatePair,
  ...signers: readonly TokenSigner[]
): Promise<OidcProvider> {
  const asked: string[] = [];
  const tls = { cert: serving.chain, key: serving.privateKey };
  const { port, close } = await openHttpsServer(tls, (request, response) => {
    const path = request.url ?? '';
    asked.push(path);
    const documents: Readonly<Record<string, unknown>> = {
      '/.well-known/openid-configuration': { issuer, jwks_uri: provider.keysUrl },
      '/keys': { keys: provider.signers.map(({ publicJwk }) => publicJwk) },
    };
    const document = provider.isDown ? undefined : documents[path];
    response.statusCode = provider.isDown ? 503 : document === undefined ? 404 : 200;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(document));
  });
  const issuer = `https://localhost:${port}`;
  const provider: OidcProvider = {
    issuer,
    keysUrl: `${issuer}/keys`,
    signers,
    isDown: false,
    asked,
    close,
  };
  return provider;
}

/** One with a certificate of `authority`, closed when the test ends. */
export async function oidcProvider(
  context: TestContext,
  authority: Authority,
  ...signers: readonly TokenSigner[]
): Promise<OidcProvider> {
  const serving = await authority.issue({ commonName: 'issuer', dnsNames: ['localhost'], usage: 'server' });
  const provider = await openOidcProvider(serving, ...signers);
  context.after(() => provider.close());
  return provider;
}
