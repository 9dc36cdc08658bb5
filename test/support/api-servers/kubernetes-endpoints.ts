import type { ExampleApiServer, ExampleStore } from '../../../demo/example-api-server/index.ts';

const endpointSlices = { group: 'discovery.k8s.io', resource: 'endpointslices' };

/** Makes these the endpoints of the Service `kubernetes`, each in a slice of its own, since they have different ports. */
export function setEndpoints(
  store: ExampleStore,
  servers: readonly Pick<ExampleApiServer, 'address' | 'port'>[],
): void {
  for (const { metadata } of store.list(endpointSlices, 'default')) {
    store.remove(endpointSlices, 'default', metadata.name ?? '');
  }
  for (const { address, port } of servers) {
    store.create(endpointSlices, {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {
        name: `kubernetes-${port}`,
        namespace: 'default',
        labels: { 'kubernetes.io/service-name': 'kubernetes' },
      },
      addressType: 'IPv4',
      endpoints: [{ addresses: [address] }],
      ports: [{ name: 'https', port, protocol: 'TCP' }],
    });
  }
}
