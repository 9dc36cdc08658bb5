import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JWK } from 'jose';
import { createDemoCertificates, type DemoCertificates, frontProxyName } from '../../../demo/certificates.ts';
import {
  type ExampleApiServer,
  type ExampleApiServerOptions,
  ExampleStore,
  startExampleApiServer,
} from '../../../demo/example-api-server/index.ts';
import { writeKubeconfig } from '../../../demo/kubeconfig.ts';
import { serveFlags } from '../../../demo/routers.ts';
import { generateKeyFiles, publicKeysFile, signingKeyFile } from '../../../src/cli/commands/keygen.ts';
import type { RunningRouter } from '../../../src/node/configuration/serve-config.ts';
import { silentLogger } from '../../../src/runtime/logger.ts';
import { openEmbeddedSync } from '../../../src/sync/node/embedded-sync.ts';
import { type RouterByFlags, startRouterByFlags } from '../routers/router-by-flags.ts';
import { sharedCertificates } from './shared-certificates.ts';

/** Credentials that a sync job of the cluster is started with. */
export interface SyncCredentials {
  readonly certificateAuthorities: string;
  readonly clientCertificate: { readonly certificate: string; readonly key: string };
  readonly signingKey: JWK;
}

/** A cluster on loopback whose servers and routers are started, stopped and started again one by one. */
export interface EmbeddedCluster {
  /** For files; removed with the cluster. */
  readonly directory: string;
  readonly certificates: DemoCertificates;
  readonly store: ExampleStore;
  readonly credentials: SyncCredentials;
  /** Files of the sync job's signing key: private, and what routers check with. */
  readonly keyFiles: { readonly signingKey: string; readonly publicKeys: string };
  /** @param options with the port of a server that was closed, it comes back at its address */
  startServer(
    options: Pick<ExampleApiServerOptions, 'version' | 'name'> & Partial<ExampleApiServerOptions>,
  ): Promise<ExampleApiServer>;
  /**
   * A router in front of a server, without a snapshot file: it knows nothing until it is told.
   * @param options flags of `serve` in place of the demo's, `undefined` to leave one out: with the `secure-port` of a
   *   router that was closed, it comes back at its address
   * @param more what no flag sets, and whether the files of credentials are read again
   */
  startRouter(
    apiServer: ExampleApiServer,
    options?: Readonly<Record<string, readonly string[] | undefined>>,
    more?: Pick<RouterByFlags, 'configure' | 'source'>,
  ): Promise<RunningRouter>;
  /** A kubeconfig of the sync job for one of the servers. @returns its path */
  kubeconfig(apiServer: ExampleApiServer): Promise<string>;
  /** Ends everything that was started and not closed yet. */
  close(): Promise<void>;
}

export interface EmbeddedClusterOptions {
  /** True if no other cluster may have its authorities. Default: false. */
  readonly hasOwnAuthorities?: boolean;
}

export async function createEmbeddedCluster({
  hasOwnAuthorities = false,
}: EmbeddedClusterOptions = {}): Promise<EmbeddedCluster> {
  const logger = silentLogger;
  const directory = await mkdtemp(join(tmpdir(), 'mixed-version-proxy-cluster-'));
  const createCertificates = hasOwnAuthorities ? createDemoCertificates : sharedCertificates;
  const certificates = await createCertificates(join(directory, 'pki'));
  const keys = join(directory, 'keys');
  await generateKeyFiles(keys, 'EdDSA');
  const read = (path: string) => readFile(path, 'utf8');
  const [cert, key, clientCa, requestHeaderCa, certificate, privateKey, signingKey] = await Promise.all([
    read(certificates.apiServer.certificate),
    read(certificates.apiServer.privateKey),
    read(certificates.clusterCa),
    read(certificates.frontProxyCa),
    read(certificates.sync.certificate),
    read(certificates.sync.privateKey),
    read(join(keys, signingKeyFile)),
  ]);
  const store = new ExampleStore();
  const running = new Set<() => Promise<unknown>>();

  /** Closes once, by whoever comes first: its user, or the end of the cluster. */
  function closing<Closable extends { close(): Promise<void> }>(closable: Closable): Closable {
    let closed: Promise<void> | undefined;
    const close = () => {
      running.delete(close);
      closed ??= closable.close();
      return closed;
    };
    running.add(close);
    return { ...closable, close };
  }

  return {
    directory,
    certificates,
    store,
    credentials: {
      certificateAuthorities: clientCa,
      clientCertificate: { certificate, key: privateKey },
      signingKey: JSON.parse(signingKey),
    },
    keyFiles: { signingKey: join(keys, signingKeyFile), publicKeys: join(keys, publicKeysFile) },
    startServer: async (options) =>
      closing(
        await startExampleApiServer({
          store,
          tls: { cert, key },
          clientCa,
          requestHeaderCa,
          requestHeaderAllowedNames: [frontProxyName],
          ...options,
        }),
      ),
    async startRouter(apiServer, options, more) {
      const snapshotKeys = join(keys, publicKeysFile);
      const demo = serveFlags({ apiServer, certificates, snapshotKeys, snapshotFile: '', logger });
      const flags = { ...demo, 'snapshot-file': undefined, ...options };
      return closing(await startRouterByFlags(flags, { logger, more: { openEmbeddedSync }, ...more }));
    },
    kubeconfig: (apiServer) =>
      writeKubeconfig(join(directory, `${apiServer.serverId}.kubeconfig`), {
        servers: { cluster: apiServer.url },
        certificateAuthority: certificates.clusterCa,
        users: { sync: certificates.sync },
      }),
    async close() {
      await Promise.all([...running].map((close) => close()));
      await rm(directory, { recursive: true, force: true });
    },
  };
}
