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
import { SyncJob } from './sync-job.ts';
import { startTcpLoadBalancer } from './tcp-load-balancer.ts';

/** A control plane with a router beside each server and a load balancer before them, every part a process of its own. */
export interface ExperimentCluster {
  readonly store: ExampleStore;
  readonly servers: readonly ApiServer[];
  readonly routers: readonly Router[];
  /** What clients need to use the cluster as its administrator. */
  readonly access: Pick<ClientOptions, 'origin' | 'tls' | 'wasServed'>;
  close(): Promise<void>;
}

interface ExperimentClusterOptions {
  /** Of each server; a router stands beside each. */
  readonly versions: readonly KubernetesVersionName[];
  /** Changes that a watch can go back. Default: all. */
  readonly historyLimit?: number;
  /** Milliseconds between the bookmarks of a watch. Default 2,000. */
  readonly bookmarkInterval?: number;
  /** Open the inspector of routers. Default false. */
  readonly inspect?: boolean;
}

export async function startExperimentCluster(options: ExperimentClusterOptions): Promise<ExperimentCluster> {
  const { versions } = options;
  const directory = await mkdtemp(join(tmpdir(), 'mixed-version-proxy-'));
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
        bookmarkInterval: options.bookmarkInterval ?? 2_000,
        logFile: join(directory, `server-${index + 1}.log`),
      }),
    );
  }
  const routers: Router[] = [];
  for (const apiServer of servers) {
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
  const syncJob = new SyncJob({
    servers,
    routers,
    certificates,
    signingKey: join(directory, 'keys', signingKeyFile),
    directory,
  });
  const loadBalancer = await startTcpLoadBalancer(routers.map(({ port }) => port));

  const close = async (): Promise<void> => {
    await loadBalancer.close();
    await syncJob.kill();
    await Promise.all([...routers, ...servers].map((one) => one.kill()));
    await rm(directory, { recursive: true, force: true });
  };
  try {
    for (const [index, version] of versions.entries()) await servers[index]?.start(version);
    for (const router of routers) await router.start();
    await syncJob.start();
    await Promise.all(routers.map((router) => router.ready()));
  } catch (error) {
    await close();
    throw error;
  }
  return {
    store,
    servers,
    routers,
    close,
    access: {
      origin: loadBalancer.origin,
      tls: { ca, cert, key },
      wasServed: (groupVersion, resource, since) =>
        servers.some((server) => server.servedDuring(groupVersion, resource, since, performance.now())),
    },
  };
}
