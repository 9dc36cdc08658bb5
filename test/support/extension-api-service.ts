import type { ExampleStore } from '../../demo/example-api-server/index.ts';

interface ExtensionService {
  readonly namespace: string;
  readonly name: string;
  readonly port?: number;
}

/** Registers an available extension API server, which a Service stands for, as the APIService of a group version. */
export function registerExtension(
  store: ExampleStore,
  { group, version }: { readonly group: string; readonly version: string },
  service: ExtensionService,
  caBundle?: string,
): void {
  store.create(
    { group: 'apiregistration.k8s.io', resource: 'apiservices' },
    {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: `${version}.${group}` },
      spec: { group, version, service: { ...service }, ...(caBundle === undefined ? {} : { caBundle }) },
      status: { conditions: [{ type: 'Available', status: 'True' }] },
    },
  );
}
