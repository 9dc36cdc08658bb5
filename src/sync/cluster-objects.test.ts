import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  fakeServer,
  jsonDocument,
  plainNotFound,
  refusesConnections,
} from '../../test/support/fake-server-documents.ts';
import {
  apiServicesPath,
  customResourceDefinitionsPath,
  groupVersionsOfCustomResources,
  readApiServices,
  readClusterObjects,
  readCustomResources,
} from './shared-objects.ts';

const service = { namespace: 'kube-system', name: 'metrics-server' };

async function apiServicesOf(...items: object[]) {
  const documents = fakeServer({ [apiServicesPath]: { kind: 'APIServiceList', items } });
  return (await readApiServices(documents, undefined)) ?? assert.fail('APIServices are served');
}

test('an APIService is available only by a True condition', async () => {
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
    const { apiServices, warnings } = await apiServicesOf({ spec, status });
    assert.deepEqual(warnings, []);
    assert.deepEqual(apiServices, [{ group: 'metrics.k8s.io', version: 'v1beta1', service, available }]);
  }
});

test('an APIService without a service is local and always available', async () => {
  const { apiServices } = await apiServicesOf({ spec: { version: 'v1', service: null } });
  assert.deepEqual(apiServices, [{ group: '', version: 'v1', available: true }]);
});

test('an APIService that routers would refuse is left out, and the others are kept', async () => {
  const { apiServices, warnings } = await apiServicesOf(
    { spec: { group: 'odd.example.com', version: 'v1', service: { namespace: 'No Namespace', name: 'x' } } },
    { spec: { group: 'apps', version: 'v1' } },
  );
  assert.deepEqual(apiServices, [{ group: 'apps', version: 'v1', available: true }]);
  assert.match(warnings.join(), /v1\.odd\.example\.com" is left out/);
});

test('every version of a CustomResourceDefinition counts, each group version once', async () => {
  const documents = fakeServer({
    [customResourceDefinitionsPath]: {
      items: [
        { spec: { group: 'z.example.com', versions: [{ name: 'v1', served: false }] } },
        { spec: { group: 'a.example.com', versions: [{ name: 'v1' }, { name: 'v1beta1' }] } },
        { spec: { group: 'a.example.com', versions: [{ name: 'v1' }] } },
      ],
    },
  });
  const definitions = await readCustomResources(documents);
  assert.deepEqual(groupVersionsOfCustomResources(definitions ?? []), [
    { group: 'a.example.com', version: 'v1' },
    { group: 'a.example.com', version: 'v1beta1' },
    { group: 'z.example.com', version: 'v1' },
  ]);
});

test('objects that one server does not return are read from the next', async () => {
  const broken = fakeServer({
    [apiServicesPath]: refusesConnections,
    [customResourceDefinitionsPath]: () => jsonDocument({ kind: 'Status', code: 403 }, 403),
  });
  const healthy = fakeServer({
    [apiServicesPath]: { items: [{ spec: { group: 'apps', version: 'v1' } }] },
    [customResourceDefinitionsPath]: { items: [] },
  });
  assert.deepEqual(await readClusterObjects([broken, healthy]), {
    apiServices: [{ group: 'apps', version: 'v1', available: true }],
    customResourceGroups: [],
    customResources: [],
    warnings: [],
    failures: [],
  });
});

test('objects that one server does not serve are read from the next; that none does is no failure', async () => {
  const without = fakeServer({
    [apiServicesPath]: () => plainNotFound,
    [customResourceDefinitionsPath]: () => jsonDocument({ kind: 'Status', code: 404 }, 404),
  });
  const withServices = fakeServer({
    [apiServicesPath]: { items: [{ spec: { group: 'apps', version: 'v1' } }] },
    [customResourceDefinitionsPath]: () => plainNotFound,
  });
  const { apiServices, customResourceGroups, warnings, failures } = await readClusterObjects([
    without,
    withServices,
  ]);
  assert.deepEqual(apiServices, [{ group: 'apps', version: 'v1', available: true }]);
  // Not empty: the last known ones are used.
  assert.equal(customResourceGroups, undefined);
  assert.deepEqual([warnings, failures], [[], []]);
});

test('objects that one server does not serve and the other does not give are unknown, with the reason', async () => {
  const without = fakeServer({ [customResourceDefinitionsPath]: () => plainNotFound });
  const broken = fakeServer({ [customResourceDefinitionsPath]: refusesConnections });
  for (const servers of [
    [without, broken],
    [broken, without],
  ]) {
    const { customResourceGroups, failures } = await readClusterObjects(servers);
    assert.equal(customResourceGroups, undefined);
    assert.match(failures.join(), /customresourcedefinitions cannot be read, so only what was known of it/);
  }
});

test('objects that no server returns are unknown, not empty', async () => {
  const healthyButForbidding = fakeServer({
    [apiServicesPath]: { items: [] },
    [customResourceDefinitionsPath]: () => jsonDocument({ kind: 'Status', code: 403 }, 403),
  });
  const { customResourceGroups, failures } = await readClusterObjects([healthyButForbidding]);
  assert.equal(customResourceGroups, undefined);
  assert.match(
    failures.join(),
    /customresourcedefinitions cannot be read, so only what was known of it before is used.*403/,
  );
});
