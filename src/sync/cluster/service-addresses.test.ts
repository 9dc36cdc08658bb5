import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type FakeResponse,
  fakeServer,
  hangs,
  jsonDocument,
  refusesConnections,
} from '../../../test/support/fake-server-documents.ts';
import { manualClock } from '../../../test/support/manual-clock.ts';
import { snapshotOf } from '../../../test/support/snapshot-builder.ts';
import type { SnapshotApiService } from '../../snapshot/format/types.ts';
import { createServiceAddressReader } from './service-addresses.ts';

const path = '/api/v1/namespaces/monitoring/services/metrics';
const metrics: SnapshotApiService = {
  group: 'metrics.k8s.io',
  version: 'v1beta1',
  service: { namespace: 'monitoring', name: 'metrics', port: 443 },
  insecureSkipTLSVerify: true,
  available: true,
};
const local: SnapshotApiService = { group: 'apps', version: 'v1', available: true };
const forbidden: FakeResponse = () => jsonDocument({ kind: 'Status', code: 403 }, 403);

function serviceAt(clusterIP: string): FakeResponse {
  return { spec: { type: 'ClusterIP', clusterIP, ports: [{ port: 443 }] } };
}

function withAddress(address: string): SnapshotApiService {
  return { ...metrics, service: { namespace: 'monitoring', name: 'metrics', port: 443, address } };
}

function reader() {
  const clock = manualClock();
  const { resolve } = createServiceAddressReader(clock, 30_000);
  const { signal } = new AbortController();
  return {
    clock,
    resolve: (servers: ReturnType<typeof fakeServer>[], previous?: string, apiServices = [local, metrics]) =>
      resolve(
        apiServices,
        previous === undefined
          ? undefined
          : snapshotOf({ a: ['v1/pods'] }, { apiServices: [withAddress(previous)] }),
        servers,
        50,
        signal,
      ),
  };
}

test('APIServices get the addresses of their Services, those without a Service stay as they are', async () => {
  const { resolve } = reader();
  const { apiServices, warnings } = await resolve([fakeServer({ [path]: serviceAt('10.96.0.7') })]);
  assert.deepEqual(apiServices, [local, withAddress('10.96.0.7:443')]);
  assert.deepEqual(warnings, []);
});

test('without permission to read Services there is no address, and a warning says so', async () => {
  const { resolve } = reader();
  const { apiServices, warnings } = await resolve([fakeServer({ [path]: forbidden })]);
  assert.deepEqual(apiServices, [local, metrics]);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? '', /monitoring\/metrics.* has no address: .*returned 403/);
});

test('a Service that cannot be read keeps its address; a deleted one has none', async () => {
  for (const response of [refusesConnections, hangs, forbidden]) {
    const kept = await reader().resolve([fakeServer({ [path]: response })], '10.96.0.7:443');
    assert.deepEqual(kept.apiServices, [local, withAddress('10.96.0.7:443')]);
    assert.match(kept.warnings[0] ?? '', /keeps its address/);
  }
  const nobody = await reader().resolve([], '10.96.0.7:443');
  assert.deepEqual(nobody.apiServices, [local, withAddress('10.96.0.7:443')]);
  const gone = await reader().resolve([fakeServer({})], '10.96.0.7:443');
  assert.deepEqual(gone.apiServices, [local, metrics]);
  assert.match(gone.warnings[0] ?? '', /has no address: there is no such Service/);
});

test('the warning about a Service ends with the last APIService that names it', async () => {
  const { resolve } = reader();
  const server = fakeServer({});
  assert.equal((await resolve([server])).warnings.length, 1);
  assert.deepEqual((await resolve([server], undefined, [local])).warnings, []);
});

test('the next server is asked when one cannot be read', async () => {
  const down = fakeServer({ [path]: refusesConnections });
  const { apiServices } = await reader().resolve([down, fakeServer({ [path]: serviceAt('10.96.0.7') })]);
  assert.deepEqual(apiServices, [local, withAddress('10.96.0.7:443')]);
});

test('Services are read again when their time is over, or when APIServices name others', async () => {
  const { clock, resolve } = reader();
  const server = fakeServer({ [path]: serviceAt('10.96.0.7') });
  await resolve([server]);
  await resolve([server]);
  assert.equal(server.asked.length, 1);
  server.responses.set(path, serviceAt('10.96.0.8'));
  await clock.advance(30_000);
  assert.deepEqual((await resolve([server])).apiServices, [local, withAddress('10.96.0.8:443')]);
  assert.equal(server.asked.length, 2);
  await resolve([server], undefined, [
    metrics,
    { ...metrics, service: { namespace: 'x', name: 'y', port: 443 } },
  ]);
  assert.equal(server.asked.length, 4);
  await reader().resolve([server], undefined, [local]);
  assert.equal(server.asked.length, 4, 'nothing names a Service');
});
