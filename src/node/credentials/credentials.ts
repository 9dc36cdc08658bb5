import type { AssertionKeySet } from '../../identity/assertion/assertion-keys.ts';
import { kubeApiServerManifest } from '../../own-paths/status/status-sources.ts';
import type { Destination, DestinationTrust } from '../../request/destination.ts';
import type { PinnedKeySet } from '../../snapshot/signing/keys.ts';
import {
  ClientCertificateReader,
  clientCertificateTlsOptions,
  readClientAuthorities,
} from '../callers/client-certificate.ts';
import type { CertificatePair, ServeConfig } from '../configuration/serve-config.ts';
import type { NodeTransport } from '../destinations/node-transport.ts';
import type { TransportCredentials } from '../destinations/tls-dialer.ts';
import type { ClientCertificateOf } from '../exchange/node-inbound.ts';
import type { ServerTlsOptions } from '../serving/https-server.ts';
import type { RouterServer } from '../serving/server.ts';
import type { CredentialWatch, WatchedFile } from './credential-watch.ts';

export interface PemPair {
  readonly certificate: string;
  readonly key: string;
}

interface Credentials {
  readonly server: ServerTlsOptions;
  readonly transport: TransportCredentials;
  /** Judges open connections anew as well: a certificate of an authority that is gone yields no identity. */
  readonly clientCertificates: ClientCertificateReader;
  readonly localAuthorities: string;
  readonly snapshotKeys: PinnedKeySet;
  /** Keys of edge routers. Without any no assertion is believed. */
  readonly assertionKeys: AssertionKeySet;
}

/**
 * The credentials that the files of a configuration come to.
 * @throws {CertificatePemError} when a bundle of client authorities cannot be used.
 * @throws {TypeError} when the configuration has a CA bundle neither for peers nor for the local server.
 */
export function credentialsOf(config: ServeConfig): Credentials {
  const { serving, proxyClient, local, peerCa, clientCa, requestHeader, snapshotKeys, tls } = config;
  // With the gate off there are no peers, and in the gateway form no local server: the other's is all there is.
  const peerAuthorities = (peerCa ?? local?.ca)?.pem;
  if (peerAuthorities === undefined) throw new TypeError('There is no CA bundle for any API server.');
  const clientAuthorities = readClientAuthorities({
    clientCa: clientCa?.pem,
    requestHeaderCa: requestHeader?.clientCa.pem,
  });
  return {
    server: {
      cert: serving.certificate.pem,
      key: serving.privateKey.pem,
      namedPairs: config.namedServing.map(({ certificate, privateKey, names }) => ({
        cert: certificate.pem,
        key: privateKey.pem,
        names,
      })),
      ...tls,
      ...clientCertificateTlsOptions(clientAuthorities),
    },
    transport: {
      peerCertificateAuthorities: peerAuthorities,
      frontProxy: proxyClient && pemPair(proxyClient),
    },
    clientCertificates: new ClientCertificateReader(clientAuthorities),
    localAuthorities: local?.ca.pem ?? peerAuthorities,
    // Without keys every snapshot is refused: none can be signed with a key that is pinned.
    snapshotKeys: snapshotKeys ?? new Map(),
    assertionKeys: config.assertionKeys ?? new Map(),
  };
}

function pemPair({ certificate, privateKey }: CertificatePair): PemPair {
  return { certificate: certificate.pem, key: privateKey.pem };
}

const peerCa: DestinationTrust = Object.freeze({ kind: 'peer-ca' });

/** @param id the server's ID in the snapshot in use; `undefined` in the gateway form */
export function localDestination(
  { local }: ServeConfig,
  id: (() => string) | undefined,
  credentials: () => Credentials,
): Destination | undefined {
  if (id === undefined || local === undefined) return undefined;
  let ownBundle: DestinationTrust | undefined;
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
      if (localAuthorities === transport.peerCertificateAuthorities) return peerCa;
      if (ownBundle?.kind !== 'ca-bundle' || ownBundle.pem !== localAuthorities) {
        ownBundle = Object.freeze({ kind: 'ca-bundle', pem: localAuthorities });
      }
      return ownBundle;
    },
  };
}

/** Users that have to be told of other credentials; all others ask for those in use each time. */
interface CredentialUsers {
  readonly server: Pick<RouterServer, 'setSecureContext'>;
  readonly transport: Pick<NodeTransport, 'updateCredentials'>;
}

export class LiveCredentials {
  #current: Credentials;

  constructor(first: Credentials) {
    this.#current = first;
  }

  get current(): Credentials {
    return this.#current;
  }

  readonly clientCertificateOf: ClientCertificateOf = (incoming) =>
    this.#current.clientCertificates.read(incoming);

  /**
   * For new connections of both sides, or of neither. Open ones of clients are judged again; those to servers end once their
   * requests have, where something has changed.
   * @throws when a certificate or a key cannot be used after all; the old ones stay in use then
   */
  replace(next: Credentials, { server, transport }: CredentialUsers): void {
    const last = this.#current;
    try {
      server.setSecureContext(next.server);
      const isChanged =
        JSON.stringify(last.transport) !== JSON.stringify(next.transport) ||
        last.localAuthorities !== next.localAuthorities;
      if (isChanged) transport.updateCredentials(next.transport);
    } catch (error) {
      server.setSecureContext(last.server);
      throw error;
    }
    this.#current = next;
  }
}

interface FileUsers extends CredentialUsers {
  readonly live: LiveCredentials;
  /**
   * Makes ready to read the cluster with what the kubeconfig holds now, without any effect yet. Left out where snapshots
   * are pushed.
   * @returns how to go by it from now on
   */
  readonly prepareSync?: ((config: ServeConfig) => Promise<() => void>) | undefined;
}

/** The content of the files is checked when one of them changes, and taken into use, whole or not at all. */
export function watchRouterFiles(
  started: ServeConfig,
  users: FileUsers,
  source: ConfigurationSource,
  watch: CredentialWatch,
): void {
  // A kubeconfig holds certificates inside its text.
  const files = started.credentialFiles.map((file) => ({ ...file, isDocument: file.name === 'kubeconfig' }));
  watch.add({
    name: 'certificates, keys and kubeconfig',
    files,
    async apply(texts) {
      const config = await source.read(texts);
      const credentials = credentialsOf(config);
      const readCluster = await users.prepareSync?.(config);
      users.live.replace(credentials, users);
      readCluster?.();
    },
  });
  if (source.manifest !== undefined) {
    const { path, text, check } = source.manifest;
    const file: WatchedFile = { name: kubeApiServerManifest, path, text, isDocument: true };
    watch.add({
      name: 'the manifest of kube-apiserver',
      complaint: 'The router will not reach kube-apiserver where its manifest has it listen',
      files: [file],
      isOnlyChecked: true,
      apply: (texts) => check(texts.get(path) ?? ''),
    });
  }
}

export interface ConfigurationSource {
  readonly manifest?:
    | {
        readonly path: string;
        readonly text: string;
        /** @throws {Error} why the router cannot go on by what the manifest says now */
        check(text: string): void;
      }
    | undefined;
  /**
   * The settings of the start, with what the files that they name hold now, checked as at the start.
   * @param texts by path. Others are read.
   * @throws {Error} with every error
   */
  read(texts: ReadonlyMap<string, string>): Promise<ServeConfig>;
}
