import type { TestContext } from 'node:test';
import type { Authority, CertificatePair } from '../certificates.ts';
import type { TokenSigner } from '../token-signer.ts';
import { openHttpsServer } from './https-server.ts';

/** An issuer of tokens on loopback, over TLS, that publishes its keys. */
export interface OidcProvider {
  /** `https://localhost:port`. */
  readonly issuer: string;
  /** Where its keys are. */
  readonly keysUrl: string;
  close(): Promise<void>;
}

/** @param serving good for localhost */
export async function openOidcProvider(serving: CertificatePair, signer: TokenSigner): Promise<OidcProvider> {
  const tls = { cert: serving.chain, key: serving.privateKey };
  const { port, close } = await openHttpsServer(tls, (request, response) => {
    response.statusCode = request.url === '/keys' ? 200 : 404;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ keys: [signer.publicJwk] }));
  });
  const issuer = `https://localhost:${port}`;
  return { issuer, keysUrl: `${issuer}/keys`, close };
}

/** One with a certificate of `authority`, closed when the test ends. */
export async function oidcProvider(
  context: TestContext,
  authority: Authority,
  signer: TokenSigner,
): Promise<OidcProvider> {
  const serving = await authority.issue({ commonName: 'issuer', dnsNames: ['localhost'], usage: 'server' });
  const provider = await openOidcProvider(serving, signer);
  context.after(() => provider.close());
  return provider;
}
