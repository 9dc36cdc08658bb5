import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  apiServicesOf,
  customResourceGroupsOf,
  parseApiService,
  parseCustomResourceDefinition,
} from './shared-objects.ts';

const service = { namespace: 'kube-system', name: 'metrics-server' };

const servicesOf = (...items: object[]) => apiServicesOf(items.map(parseApiService));

test('an APIService is available only by a True condition', () => {
  const spec = { group: 'metrics.k8s.io', version: 'v1beta1', service: { ...service, port: 8443 } };
  const conditions = (type: string, status: string) => ({ conditions: [{ type, status }] });
  for (const [status, available] of [
    [conditions('Available', 'True'), true],
    [undefined, false],
    [{ conditions: [] }, false],
    [{ conditions: null }, false],
    [conditions('Available', 'False'), false],
    [conditions('Available', 'Unknown'), false],
    [conditions('Other', 'True'), false],
  ] as const) {
    const { apiServices, warnings } = servicesOf({ spec, status });
    assert.deepEqual(warnings, []);
    assert.deepEqual(apiServices, [{ group: 'metrics.k8s.io', version: 'v1beta1', service, available }]);
  }
});

test('an APIService without a service is local and always available', () => {
  const { apiServices } = servicesOf({ spec: { version: 'v1', service: null } });
  assert.deepEqual(apiServices, [{ group: '', version: 'v1', available: true }]);
});

test('an APIService that routers would refuse is left out, and the others are kept', () => {
  const { apiServices, warnings } = servicesOf(
    { spec: { group: 'odd.example.com', version: 'v1', service: { namespace: 'No Namespace', name: 'x' } } },
    { spec: { group: 'apps', version: 'v1' } },
  );
  assert.deepEqual(apiServices, [{ group: 'apps', version: 'v1', available: true }]);
  assert.match(warnings.join(), /v1\.odd\.example\.com" is left out/);
});

test('every version of a CustomResourceDefinition counts, each group version once', () => {
  const definitions = [
    { spec: { group: 'z.example.com', versions: [{ name: 'v1', served: false }] } },
    { spec: { group: 'a.example.com', versions: [{ name: 'v1' }, { name: 'v1beta1' }] } },
    { spec: { group: 'a.example.com', versions: [{ name: 'v1' }] } },
  ];
  assert.deepEqual(customResourceGroupsOf(definitions.map(parseCustomResourceDefinition)), [
    { group: 'a.example.com', version: 'v1' },
    { group: 'a.example.com', version: 'v1beta1' },
    { group: 'z.example.com', version: 'v1' },
  ]);
});
