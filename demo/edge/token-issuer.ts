import { readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { CompactSign } from 'jose';
import { generateSigningKey, signingKeyOf } from '../../src/snapshot/signing/seal.ts';
import type { CertificatePaths } from '../certificates.ts';

interface TokenSubject {
  readonly name: string;
  readonly groups: readonly string[];
}

/** An issuer of bearer tokens on loopback, instead of a team's identity provider. */
export interface TokenIssuer {
  /** Variables that tell the router of the issuer. */
  readonly variables: Readonly<Record<string, string>>;
  /** A token that counts for a day. */
  issue(subject: TokenSubject): Promise<string>;
  close(): Promise<void>;
}

const audience = 'mixed-version-proxy-demo';
/** Seconds. The demo and its keys seldom live longer. */
const lifetime = 24 * 3600;
const keysPath = '/keys';

/** @param serving the certificate of its TLS server, good for 127.0.0.1. */
export async function startTokenIssuer(serving: CertificatePaths): Promise<TokenIssuer> {
  const { privateJwk, publicJwk } = await generateSigningKey('ES256');
  const key = signingKeyOf(privateJwk);
  const tls = { cert: await readFile(serving.certificate), key: await readFile(serving.privateKey) };
  const server = createServer(tls, (request, response) => {
    const isKeys = request.url === keysPath;
    response.writeHead(isKeys ? 200 : 404, { 'content-type': 'application/json' });
    response.end(isKeys ? JSON.stringify({ keys: [publicJwk] }) : '{}');
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  const issuer = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    variables: {
      TOKEN_ISSUER: issuer,
      TOKEN_AUDIENCE: audience,
      TOKEN_JWKS_URL: `${issuer}${keysPath}`,
      TOKEN_GROUPS_CLAIM: 'groups',
    },
    issue({ name, groups }) {
      const now = Math.floor(Date.now() / 1000);
      const claims = { iss: issuer, aud: audience, sub: name, groups, iat: now, exp: now + lifetime };
      return new CompactSign(new TextEncoder().encode(JSON.stringify(claims)))
        .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'JWT' })
        .sign(key.privateKey);
    },
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}
