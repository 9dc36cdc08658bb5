import { readFile } from 'node:fs/promises';
import { type DemoCertificates, frontProxyName } from './certificates.ts';
import {
  type ExampleApiServer,
  type ExampleApiServerOptions,
  ExampleStore,
  type KubernetesVersionName,
  startExampleApiServer,
} from './example-api-server/index.ts';
import type { SpecFields } from './example-api-server/served-resources.ts';

/** An API server of a demo. */
export interface DemoServer {
  /** Name of the server, and of the contexts of kubeconfigs that lead to it. */
  readonly name: string;
  readonly version: KubernetesVersionName;
}

/** A control plane in the middle of an upgrade: one server of three is done. */
export const demoServers: readonly DemoServer[] = [
  { name: 'control-plane-1', version: '1.36' },
  { name: 'control-plane-2', version: '1.35' },
  { name: 'control-plane-3', version: '1.35' },
];

/** Starts example API servers on free loopback ports, over one store as over one etcd. */
export async function startCluster(
  certificates: DemoCertificates,
  servers: readonly DemoServer[],
): Promise<readonly ExampleApiServer[]> {
  const shared = await sharedByServers(certificates);
  const started: ExampleApiServer[] = [];
  for (const { name, version } of servers) {
    started.push(await startExampleApiServer({ ...shared, ...settingsOf(version), version, name }));
  }
  return started;
}

/** Parts that all API servers of a cluster share: a new store, and the authorities that they trust. */
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

/** `spec.schedulingGroup` of a Pod came with 1.36, for those who use workloads (KEP-4671). */
export const newField = 'schedulingGroup';
const newFields: SpecFields = { 'v1/Pod': [newField] };

/** Settings of a demo's servers beside the defaults. The cluster uses workloads, which are alpha. */
export function settingsOf(
  version: KubernetesVersionName,
): Pick<ExampleApiServerOptions, 'enabledGroupVersions' | 'addedFields' | 'unknownFields'> {
  if (version === '1.36') {
    return { enabledGroupVersions: ['scheduling.k8s.io/v1alpha2'], addedFields: newFields };
  }
  return version === '1.35'
    ? { enabledGroupVersions: ['scheduling.k8s.io/v1alpha1'], unknownFields: newFields }
    : {};
}
