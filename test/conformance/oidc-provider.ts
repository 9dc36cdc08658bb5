import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { clusterAuthority, oidcSigner, serverPair } from './credentials.ts';
import { claimMappings, oidcAudience, oidcIssuerUrl } from './oidc-tokens.ts';

/** Where the keys of the cases' OIDC issuer are published. */
export interface OidcProvider {
  readonly keysUrl: string;
  close(): Promise<void>;
}

export async function startOidcProvider(): Promise<OidcProvider> {
  const server = createServer(
    { cert: serverPair.chain, key: serverPair.privateKey },
    (_request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ keys: [oidcSigner.publicJwk] }));
    },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    keysUrl: `https://127.0.0.1:${(server.address() as AddressInfo).port}/keys`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/**
 * The AuthenticationConfiguration that makes routers believe it.
 * @param trust whether it names the authority of the provider's certificate: not where the runtime alone says whom
 *   it trusts.
 */
export function authenticationConfiguration(keysUrl: string, trust: 'named authority' | 'runtime'): string {
  return JSON.stringify({
    apiVersion: 'mixed-version-proxy/v1alpha1',
    kind: 'AuthenticationConfiguration',
    jwt: [
      {
        issuer: {
          url: oidcIssuerUrl,
          audiences: [oidcAudience],
          jwksURL: keysUrl,
          ...(trust === 'runtime' ? {} : { certificateAuthority: clusterAuthority.certificate }),
        },
        claimMappings,
      },
    ],
  });
}
