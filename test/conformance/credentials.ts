import type { ConnectionOptions } from 'node:tls';
import { generateSigningKey, signingKeyOf } from '../../src/snapshot/signing/seal.ts';
import { assertionKeysFile, type Speaker, speaker } from '../support/assertions.ts';
import { type CertificatePair, createAuthority } from '../support/certificates.ts';
import { tokenSigner } from '../support/token-signer.ts';
import type { ClientCertificate } from './wire/exchange.ts';

/** Signs serving certificates of the router and of API servers, and the certificates of users. */
export const clusterAuthority = await createAuthority('kubernetes');
/** Signs front proxies. */
export const frontProxyAuthority = await createAuthority('kubernetes-front-proxy-ca');

/** Common name of the certificate that a router proves itself to servers with. */
export const frontProxyName = 'front-proxy-client';
export const frontProxyPair = await frontProxyAuthority.issue({
  commonName: frontProxyName,
  usage: 'client',
});

/**
 * Of the router and of every API server: `kubernetes.default.svc` for runtimes that can name what a certificate
 * has to carry, the address for those that cannot.
 */
export const serverPair = await clusterAuthority.issue({
  commonName: 'server',
  dnsNames: ['kubernetes.default.svc', 'localhost'],
  ipAddresses: ['127.0.0.1'],
  usage: 'server',
});

export const clientPairs: Readonly<Record<ClientCertificate, CertificatePair>> = {
  alice: await clusterAuthority.issue({ commonName: 'alice', organizations: ['dev'], usage: 'client' }),
  admin: await clusterAuthority.issue({
    commonName: 'admin',
    organizations: ['system:masters'],
    usage: 'client',
  }),
};

/** What the connection of such a client is made with; without a certificate, none is presented. */
export function clientTls(certificate: ClientCertificate | undefined): ConnectionOptions {
  const pair = certificate === undefined ? undefined : clientPairs[certificate];
  const ca = clusterAuthority.certificate;
  return pair === undefined ? { ca } : { ca, cert: pair.chain, key: pair.privateKey };
}

const generatedSnapshotKey = await generateSigningKey('EdDSA');
/** Signs the snapshots that every router accepts. */
export const snapshotKey = signingKeyOf(generatedSnapshotKey.privateJwk);
/** The public half, as a router pins it. */
export const snapshotKeysText = JSON.stringify({ keys: [generatedSnapshotKey.publicJwk] });

/** Speaks for the cases' callers: a router in front, whose assertions every router under test believes. */
export const front: Speaker = await speaker('front');
export const assertionKeysText = assertionKeysFile([front]);

/** Name and key of a router under test that tells destinations by signed assertions who calls. */
export const routerSpeaker: Speaker = await speaker('router-under-test');

/** Signs the tokens of the cases' OIDC issuer. */
export const oidcSigner = await tokenSigner('oidc-key', 'ES256');
