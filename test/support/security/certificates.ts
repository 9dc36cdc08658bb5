import { X509Certificate } from 'node:crypto';
import { type CertificatePair, createAuthority } from '../certificates.ts';

/** Signs serving certificates of the router and of API servers, and the certificates of users. */
export const clusterAuthority = await createAuthority('kubernetes');
/** Signs front proxies. */
export const frontProxyAuthority = await createAuthority('kubernetes-front-proxy-ca');
/** Trusted by nobody, under a trusted name. */
const rogueAuthority = await createAuthority('kubernetes');

export const servingPair = await clusterAuthority.issue({
  commonName: 'router',
  // For clients, and for other routers.
  dnsNames: ['localhost', 'kubernetes.default.svc'],
  ipAddresses: ['127.0.0.1'],
  usage: 'server',
});
export const apiServerPair = await clusterAuthority.issue({
  commonName: 'kube-apiserver',
  dnsNames: ['kubernetes.default.svc'],
  usage: 'server',
});
/** Certificate that the router proves itself with. */
export const proxyClientPair = await frontProxyAuthority.issue({
  commonName: 'front-proxy-client',
  usage: 'client',
});

/** Certificates of those who may stand at the client's end of a connection. */
const clients = {
  /** No certificate. */
  nobody: undefined,
  alice: await clusterAuthority.issue({ commonName: 'alice', organizations: ['dev'], usage: 'client' }),
  admin: await clusterAuthority.issue({
    commonName: 'admin',
    organizations: ['system:masters'],
    usage: 'client',
  }),
  /** A front proxy whose word counts. */
  frontProxy: proxyClientPair,
  /** Certificate of the right authority, under a name that is not allowed. */
  otherFrontProxy: await frontProxyAuthority.issue({ commonName: 'someone-else', usage: 'client' }),
  /** A user under the name of a front proxy. */
  impostor: await clusterAuthority.issue({ commonName: 'front-proxy-client', usage: 'client' }),
  /** Certificate of an authority with a trusted name and another key. */
  rogue: await rogueAuthority.issue({
    commonName: 'front-proxy-client',
    organizations: ['system:masters'],
    usage: 'client',
  }),
} satisfies Record<string, CertificatePair | undefined>;

export type Client = keyof typeof clients;

/** Lines that tell a destination of the certificate itself, in lower case. */
export function credentialIdOf(client: Client): readonly string[] {
  const pair = clients[client];
  if (pair === undefined) return [];
  const fingerprint = new X509Certificate(pair.certificate).fingerprint256.replaceAll(':', '').toLowerCase();
  return ['x-remote-extra-authentication.kubernetes.io%2fcredential-id', `X509SHA256=${fingerprint}`];
}

/** How this client finds the router, and shows itself. */
export function routerAt(port: number, client: Client) {
  return { port, ca: clusterAuthority.certificate, pair: clients[client] as CertificatePair | undefined };
}

/** TLS options of a client of the router. */
export function clientTls(client: Client): {
  readonly ca: string;
  readonly cert?: string;
  readonly key?: string;
} {
  const pair = clients[client];
  const ca = clusterAuthority.certificate;
  return pair === undefined ? { ca } : { ca, cert: pair.chain, key: pair.privateKey };
}

/** Every private key in use, for the search of logs and answers. */
export const privateKeys: readonly string[] = [
  ...[servingPair, apiServerPair].map((pair) => pair.privateKey),
  ...Object.values(clients).flatMap((pair) => (pair === undefined ? [] : [pair.privateKey])),
];
