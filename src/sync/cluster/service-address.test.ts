import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FakeResponse, fakeServer } from '../../../test/support/fake-server-documents.ts';
import { resolveServiceAddress } from './service-addresses.ts';

const named = { namespace: 'monitoring', name: 'metrics', port: 443 };
const servicePath = '/api/v1/namespaces/monitoring/services/metrics';
const slicesPath = '/apis/discovery.k8s.io/v1/namespaces/monitoring/endpointslices';
const ports = [
  { name: 'http', port: 80, targetPort: 8080 },
  { name: 'https', port: 443, targetPort: 'secure' },
];

function service(spec: object): Record<string, FakeResponse> {
  return { [servicePath]: { kind: 'Service', spec: { type: 'ClusterIP', ports, ...spec } } };
}

/** As the EndpointSlice controller writes them: the Service's name of the port, the number of the pod's. */
function slices(...endpoints: object[]): Record<string, FakeResponse> {
  const slicePorts = [
    { name: 'http', port: 8080 },
    { name: 'https', port: 10250 },
  ];
  return { [slicesPath]: { items: [{ endpoints, ports: slicePorts }] } };
}

function resolve(responses: Record<string, FakeResponse>, known?: string) {
  return resolveServiceAddress(named, known, fakeServer(responses), undefined);
}

test('the address of a Service is its cluster IP with its own port, whatever its pods listen on', async () => {
  assert.deepEqual(await resolve(service({ clusterIP: '10.96.0.7' })), { address: '10.96.0.7:443' });
  assert.deepEqual(await resolve(service({ clusterIP: 'fd00::7' })), { address: '[fd00::7]:443' });
  for (const type of ['NodePort', 'LoadBalancer']) {
    assert.deepEqual(await resolve(service({ type, clusterIP: '10.96.0.7' })), { address: '10.96.0.7:443' });
  }
});

test('an external name is the address, with the port of the APIService', async () => {
  const external = service({ type: 'ExternalName', externalName: 'metrics.example.com', ports: null });
  assert.deepEqual(await resolve(external), { address: 'metrics.example.com:443' });
});

test('the address of a headless Service is a ready endpoint, with the port that the Service names', async () => {
  const headless = service({ clusterIP: 'None' });
  const three = slices(
    { addresses: ['10.1.0.9'], conditions: { ready: false } },
    { addresses: ['10.1.0.8'], conditions: { ready: true } },
    // Unknown is ready (discovery.k8s.io/v1 EndpointConditions).
    { addresses: ['10.1.0.7'] },
  );
  assert.deepEqual(await resolve({ ...headless, ...three }), { address: '10.1.0.7:10250' });
  // Pods that come and go make no new snapshot as long as the one that is known is ready.
  assert.deepEqual(await resolve({ ...headless, ...three }, '10.1.0.8:10250'), { address: '10.1.0.8:10250' });
  assert.deepEqual(await resolve({ ...headless, ...three }, '10.1.0.9:10250'), { address: '10.1.0.7:10250' });
});

test('a Service without an address has a reason', async () => {
  assert.match((await resolve({})).issue ?? '', /no such Service/);
  assert.match(
    (await resolve(service({ clusterIP: '10.96.0.7', ports: [{ port: 80 }] }))).issue ?? '',
    /no port 443/,
  );
  assert.match((await resolve(service({ clusterIP: '' }))).issue ?? '', /invalid address/);
  assert.match((await resolve(service({ type: 'ExternalName' }))).issue ?? '', /invalid address/);
  const none = { ...service({ clusterIP: 'None' }), ...slices() };
  assert.match((await resolve(none)).issue ?? '', /no endpoint that is ready/);
});
