import { readFile } from 'node:fs/promises';
import { type DemoCertificates, frontProxyName } from './certificates.ts';
import {
  type ExampleApiServer,
  ExampleStore,
  type KubernetesVersionName,
  startExampleApiServer,
} from './example-api-server/index.ts';

/** The versions of the demo, oldest first: a control plane in the middle of a long upgrade. */
const demoVersions: readonly KubernetesVersionName[] = ['1.25', '1.26', '1.36'];

/** Starts one example API server for each version, on free loopback ports, over one store as over one etcd. */
export async function startCluster(certificates: DemoCertificates): Promise<readonly ExampleApiServer[]> {
  const read = (path: string) => readFile(path, 'utf8');
  const { apiServer, clusterCa, frontProxyCa } = certificates;
  const [cert, key, clientCa, requestHeaderCa] = await Promise.all(
    [apiServer.certificate, apiServer.privateKey, clusterCa, frontProxyCa].map(read),
  );
  if (cert === undefined || key === undefined) throw new TypeError('the serving pair was not made');
  const store = new ExampleStore();
  const servers: ExampleApiServer[] = [];
  for (const version of demoVersions) {
    servers.push(
      await startExampleApiServer({
        version,
        name: `control-plane-${version}`,
        store,
        tls: { cert, key },
        clientCa: clientCa ?? '',
        requestHeaderCa: requestHeaderCa ?? '',
        requestHeaderAllowedNames: [frontProxyName],
      }),
    );
  }
  return servers;
}
