import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDemoCertificates } from '../../../demo/certificates.ts';
import { ExampleStore, type KubernetesVersionName } from '../../../demo/example-api-server/index.ts';
import { generateKeyFiles, publicKeysFile, signingKeyFile } from '../../../src/cli/commands/keygen.ts';
import { freePort } from '../../harness/free-port.ts';
import type { ClientOptions } from '../clients/api-client.ts';
import { fixtures } from '../clients/subjects.ts';
import { ApiServer } from './api-server.ts';
import { Router } from './router.ts';
import { hasRouters, type SetUpName } from './set-ups.ts';
import { SyncJob } from './sync-job.ts';
import { startTcpLoadBalancer } from './tcp-load-balancer.ts';

/** A control plane of three servers with what stands in front of them, every part a process of its own. */
export interface ExperimentCluster {
  readonly store: ExampleStore;
  readonly servers: readonly ApiServer[];
  /** None in the set-ups without this project. */
  readonly routers: readonly Router[];
  readonly syncJob: SyncJob | undefined;
  /** What clients need to use the cluster as its administrator. */
  readonly access: Pick<ClientOptions, 'origin' | 'tls' | 'wasServed'>;
  /** For logs and state. */
  readonly directory: string;
  close(): Promise<void>;
}

interface ExperimentClusterOptions {
  readonly setUp: SetUpName;
  /** Of each server. */
  readonly versions: readonly KubernetesVersionName[];
  /** Changes that a watch can go back. Default: all. */
  readonly historyLimit?: number;
  /** Milliseconds between the bookmarks of a watch. Default 2,000. */
  readonly bookmarkInterval?: number;
  /** Open the inspector of routers. Default false. */
  readonly inspect?: boolean;
  /** Keep logs and state when the cluster is closed. */
  readonly keepDirectory?: boolean;
}

export async function startExperimentCluster(options: ExperimentClusterOptions): Promise<ExperimentCluster> {
  const { setUp, versions } = options;
  const directory = await mkdtemp(join(tmpdir(), `mixed-version-proxy-${setUp}-`));
  const certificates = await createDemoCertificates(join(directory, 'pki'));
  await generateKeyFiles(join(directory, 'keys'), 'EdDSA');
  const read = (path: string): Promise<string> => readFile(path, 'utf8');
  const [ca, cert, key] = await Promise.all([
    read(certificates.clusterCa),
    read(certificates.admin.certificate),
    read(certificates.admin.privateKey),
  ]);

  const store = new ExampleStore({ historyLimit: options.historyLimit ?? Number.POSITIVE_INFINITY });
  for (const { key, object } of fixtures()) store.create(key, object);

  const servers: ApiServer[] = [];
  for (const index of versions.keys()) {
    servers.push(
      new ApiServer({
        name: `control-plane-${index + 1}`,
        port: await freePort(),
        certificates,
        store,
        peerProxy: setUp === 'upstream',
        bookmarkInterval: options.bookmarkInterval ?? 2_000,
        logFile: join(directory, `server-${index + 1}.log`),
      }),
    );
  }
  const routers: Router[] = [];
  for (const apiServer of setUp === 'sidecar' ? servers : hasRouters(setUp) ? [undefined, undefined] : []) {
    routers.push(
      new Router({
        name: `router-${routers.length + 1}`,
        port: await freePort(),
        apiServer,
        certificates,
        snapshotKeys: join(directory, 'keys', publicKeysFile),
        certificateAuthority: ca,
        directory,
        inspect: options.inspect ?? false,
      }),
    );
  }
  const syncJob = hasRouters(setUp)
    ? new SyncJob({
        servers,
        routers,
        certificates,
        signingKey: join(directory, 'keys', signingKeyFile),
        directory,
      })
    : undefined;
  const behind = routers.length > 0 ? routers : servers;
  const loadBalancer = await startTcpLoadBalancer(behind.map(({ port }) => port));

  const close = async (): Promise<void> => {
    await loadBalancer.close();
    await syncJob?.kill();
    await Promise.all([...routers, ...servers].map((one) => one.kill()));
    if (options.keepDirectory !== true) await rm(directory, { recursive: true, force: true });
  };
  try {
    for (const [index, version] of versions.entries()) await servers[index]?.start(version);
    for (const router of routers) await router.start();
    await syncJob?.start();
    await Promise.all(routers.map((router) => router.ready()));
  } catch (error) {
    await close();
    throw error;
  }
  return {
    store,
    servers,
    routers,
    syncJob,
    directory,
    close,
    access: {
      origin: loadBalancer.origin,
      tls: { ca, cert, key },
      wasServed: (groupVersion, resource, since) =>
        servers.some((server) => server.servedDuring(groupVersion, resource, since, performance.now())),
    },
  };
}
