import type { ConnectionOptions } from 'node:tls';
import { generateSigningKey, signingKeyOf } from '../../src/snapshot/signing/seal.ts';
import { assertionKeysFile, type Speaker, speaker } from '../support/assertions.ts';
import { clientTls as tlsOf } from '../support/security/certificates.ts';
import { tokenSigner } from '../support/token-signer.ts';
import type { ClientCertificate } from './wire/exchange.ts';

export {
  clusterAuthority,
  frontProxyAuthority,
  proxyClientPair as frontProxyPair,
  servingPair as serverPair,
} from '../support/security/certificates.ts';

/** Common name of the certificate that a router proves itself to servers with. */
export const frontProxyName = 'front-proxy-client';

/** TLS options for the connection of such a client; without a certificate, none is presented. */
export function clientTls(certificate: ClientCertificate | undefined): ConnectionOptions {
  return tlsOf(certificate ?? 'nobody');
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
