import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import {
  type ExampleApiServer,
  type ExampleApiServerOptions,
  ExampleStore,
  type KubernetesVersionName,
  startExampleApiServer,
} from '../../../demo/example-api-server/index.ts';
import { setEndpoints } from '../api-servers/kubernetes-endpoints.ts';
import { createAuthority } from '../certificates.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

const authority = await createAuthority('cluster');
const client = await authority.issue({
  commonName: 'sync-job',
  organizations: ['system:masters'],
  usage: 'client',
});

export const clusterAuthority = authority.certificate;
export const clusterClient = { certificate: client.chain, key: client.privateKey };

const leases = { group: 'coordination.k8s.io', resource: 'leases' };

/** Example API servers over one store, over HTTPS, and a kubeconfig for one of them. */
export async function exampleCluster(context: TestContext) {
  const store = new ExampleStore();
  const folder = await temporaryDirectory(context);
  const closed = new Set<ExampleApiServer>();

  async function close(server: ExampleApiServer): Promise<void> {
    if (closed.has(server)) return;
    closed.add(server);
    await server.close();
  }

  return {
    store,
    async start(
      name: string,
      version: KubernetesVersionName,
      options: Partial<ExampleApiServerOptions> = {},
    ): Promise<ExampleApiServer> {
      const names = { dnsNames: ['kubernetes.default.svc', name], ipAddresses: ['127.0.0.1'] };
      const serving = await authority.issue({ commonName: 'kube-apiserver', ...names, usage: 'server' });
      const server = await startExampleApiServer({
        version,
        name,
        store,
        tls: { cert: serving.chain, key: serving.privateKey },
        clientCa: authority.certificate,
        bookmarkIntervalMilliseconds: 500,
        ...options,
      });
      context.after(() => close(server));
      return server;
    },
    /** Ends a server as SIGTERM does: its Lease goes with it. */
    close,
    /** Ends a server as SIGKILL does: its Lease stays. */
    async kill(server: ExampleApiServer): Promise<void> {
      const lease = store.get(leases, 'kube-system', server.serverId);
      const closing = close(server);
      if (lease !== undefined) store.create(leases, lease);
      await closing;
    },
    /** Removes a Lease that nobody holds any longer. */
    removeLease: (id: string) => store.remove(leases, 'kube-system', id),
    /** Makes these the endpoints of the Service `kubernetes`. */
    setEndpoints: (servers: readonly ExampleApiServer[]) => setEndpoints(store, servers),
    /** @returns the path of a kubeconfig for `url`; `changes` replace parts of it */
    async kubeconfig(
      url: string,
      changes: { readonly cluster?: object; readonly user?: object; readonly context?: string } = {},
    ): Promise<string> {
      const base64 = (pem: string) => Buffer.from(pem).toString('base64');
      const cluster = changes.cluster ?? { 'certificate-authority-data': base64(clusterAuthority) };
      const user = changes.user ?? {
        'client-certificate-data': base64(clusterClient.certificate),
        'client-key-data': base64(clusterClient.key),
      };
      const file = join(folder, `kubeconfig-${crypto.randomUUID()}`);
      const config = {
        apiVersion: 'v1',
        kind: 'Config',
        clusters: [{ name: 'example', cluster: { server: url, ...cluster } }],
        users: [{ name: 'sync-job', user }],
        contexts: [{ name: 'example', context: { cluster: 'example', user: 'sync-job' } }],
        'current-context': changes.context ?? 'example',
      };
      // JSON is YAML, too.
      await writeFile(file, JSON.stringify(config));
      return file;
    },
  };
}
