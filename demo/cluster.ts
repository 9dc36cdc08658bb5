import { readFile } from 'node:fs/promises';
import { type DemoCertificates, frontProxyName } from './certificates.ts';
import {
  type ExampleApiServer,
  type ExampleApiServerOptions,
  ExampleStore,
  type KubernetesVersionName,
  startExampleApiServer,
} from './example-api-server/index.ts';

/** The versions of the demo, oldest first: a control plane in the middle of a long upgrade. */
const demoVersions: readonly KubernetesVersionName[] = ['1.25', '1.26', '1.36'];

/** Starts one example API server for each version, on free loopback ports, over one store as over one etcd. */
export async function startCluster(certificates: DemoCertificates): Promise<readonly ExampleApiServer[]> {
  const shared = await sharedByServers(certificates);
  const servers: ExampleApiServer[] = [];
  for (const version of demoVersions) {
    servers.push(await startExampleApiServer({ ...shared, version, name: `control-plane-${version}` }));
  }
  return servers;
}

/** What all API servers of a cluster have in common: a new store, and whom they trust. */
export async function sharedByServers(
  certificates: DemoCertificates,
): Promise<Omit<ExampleApiServerOptions, 'version' | 'name'>> {
  const read = (path: string) => readFile(path, 'utf8');
  const { apiServer, clusterCa, frontProxyCa } = certificates;
  return {
    store: new ExampleStore(),
    tls: { cert: await read(apiServer.certificate), key: await read(apiServer.privateKey) },
    clientCa: await read(clusterCa),
    requestHeaderCa: await read(frontProxyCa),
    requestHeaderAllowedNames: [frontProxyName],
  };
}
