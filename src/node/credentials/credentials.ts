import type { AssertionKeySet } from '../../identity/assertion/assertion-keys.ts';
import type { Destination, DestinationTrust } from '../../request/destination.ts';
import type { PinnedKeySet } from '../../snapshot/signing/keys.ts';
import { type ClientAuthorities, readClientAuthorities } from '../callers/client-authorities.ts';
import { clientCertificateTlsOptions } from '../callers/client-certificate.ts';
import type { CertificatePair, ServeConfig, TlsParameters } from '../configuration/serve-config.ts';
import type { TransportCredentials } from '../destinations/tls-dialer.ts';
import type { ServerTlsOptions } from '../serving/https-server.ts';

/** PEM text of a certificate (with its chain) and of its key. */
export interface PemPair {
  readonly certificate: string;
  readonly key: string;
}

/** What the router trusts and proves itself with. Every text PEM, each part replaced whole. */
export interface Credentials {
  /** Towards clients. */
  readonly server: ServerTlsOptions;
  /** Towards clients of the admin address. */
  readonly admin: PemPair & TlsParameters;
  /** Towards API servers. */
  readonly transport: TransportCredentials;
  readonly clientAuthorities: ClientAuthorities;
  readonly localAuthorities: string;
  readonly snapshotKeys: PinnedKeySet;
  /** Of edge routers. Without any no assertion is believed. */
  readonly assertionKeys: AssertionKeySet;
}

/**
 * What the files of a configuration come to.
 * @throws {CertificatePemError} when a bundle of client authorities cannot be used.
 * @throws {TypeError} when the configuration has a CA bundle neither for peers nor for the local server.
 */
export function credentialsOf(config: ServeConfig): Credentials {
  const { serving, proxyClient, local, peerCa, clientCa, requestHeader, snapshot, tls } = config;
  // With the gate off there are no peers, and in the gateway form no local server: the other's is all there is.
  const peerAuthorities = (peerCa ?? local?.ca)?.pem;
  if (peerAuthorities === undefined) throw new TypeError('There is no CA bundle for any API server.');
  const clientAuthorities = readClientAuthorities({
    clientCa: clientCa?.pem,
    requestHeaderCa: requestHeader?.clientCa.pem,
  });
  const pair = pemPair(serving);
  return {
    server: {
      cert: pair.certificate,
      key: pair.key,
      namedPairs: config.namedServing.map(({ certificate, privateKey, names }) => ({
        cert: certificate.pem,
        key: privateKey.pem,
        names,
      })),
      ...tls,
      ...clientCertificateTlsOptions(clientAuthorities),
    },
    admin: { ...pair, ...tls },
    transport: {
      peerCertificateAuthorities: peerAuthorities,
      frontProxy: proxyClient && pemPair(proxyClient),
    },
    clientAuthorities,
    localAuthorities: local?.ca.pem ?? peerAuthorities,
    // Without keys every snapshot is refused: none can be signed with a key that is pinned.
    snapshotKeys: snapshot.keys?.pinned ?? new Map(),
    assertionKeys: config.assertionKeys?.pinned ?? new Map(),
  };
}

function pemPair({ certificate, privateKey }: CertificatePair): PemPair {
  return { certificate: certificate.pem, key: privateKey.pem };
}

/**
 * `undefined` in the gateway form.
 * @param id the server's ID in the snapshot in use
 * @param credentials those in use
 */
export function localDestination(
  { local }: ServeConfig,
  id: (() => string) | undefined,
  credentials: () => Credentials,
): Destination | undefined {
  if (id === undefined || local === undefined) return undefined;
  return {
    kind: 'local',
    // Asked anew for each request: snapshots may come to name it otherwise.
    get id() {
      return id();
    },
    origin: local.origin,
    serverName: local.serverName,
    // Asked anew for each request: its authority can change.
    get trust(): DestinationTrust {
      const { localAuthorities, transport } = credentials();
      // An authority of its own is trusted for the local server only, never for peers.
      return localAuthorities === transport.peerCertificateAuthorities
        ? { kind: 'peer-ca' }
        : { kind: 'ca-bundle', pem: localAuthorities };
    },
  };
}
