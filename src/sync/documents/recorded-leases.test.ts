import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { clusterStates, placesOf } from '../../../test/support/clusters/cluster-states.ts';
import { parseApiEndpoints } from './endpoints.ts';
import { parseIdentityLease } from './leases.ts';

// Objects that real control planes wrote (test/fixtures/README.md), and which of them find each other.

async function recorded(cluster: string) {
  const items = async (file: string): Promise<readonly unknown[]> =>
    JSON.parse(await readFile(`test/fixtures/${cluster}/${file}.json`, 'utf8')).items;
  const storageVersions = JSON.stringify(await items('storageversions'));
  const leases = (await items('leases')).map(parseIdentityLease);
  return {
    leases,
    endpoints: (await items('endpointslices')).flatMap(parseApiEndpoints),
    serverIds: new Set([...storageVersions.matchAll(/"apiServerID":"([^"]+)"/g)].map(([, id]) => id ?? '')),
    now: Math.max(...leases.map(({ renewedAt }) => renewedAt)),
  };
}

const endpointNames = { '10.0.0.1:6443': ['cp-a'], '10.0.0.2:6443': ['cp-b'] };
const endpoints = ['10.0.0.1:6443', '10.0.0.2:6443'];

test('1.25 beside 1.26: the host leads to one of the Leases; for the other server, discovery alone suffices', async () => {
  const { leases, serverIds, now } = await recorded('kubernetes-1.25-1.26');
  assert.deepEqual(
    leases.map(({ hostname, address }) => [hostname, address]),
    [
      [undefined, undefined],
      ['cp-b', undefined],
    ],
  );
  const { look } = clusterStates();
  const state = look({ leases, endpoints, endpointNames, now });
  assert.deepEqual(placesOf(state), [
    'endpoint-10-0-0-1-6443@10.0.0.1:6443',
    'kube-apiserver-nxibzygiy5v5qmcjmernh6erfe@10.0.0.2:6443',
  ]);
  assert.match(state.warnings.join(), /kube-apiserver-5d876d5f-c231-4f86-8971-5462ddd9e4c5/);
  // StorageVersions know both servers by the names of their Leases.
  assert.deepEqual(serverIds, new Set(leases.map(({ id }) => id)));
});

test('two servers of 1.26: both are found by their hosts', async () => {
  const { leases, now } = await recorded('kubernetes-1.26-batch-disabled');
  const { look } = clusterStates();
  const state = look({ leases, endpoints, endpointNames, now });
  assert.deepEqual(placesOf(state), [
    'kube-apiserver-hxhuy3rsmzqt3nvdbfa4wlpycq@10.0.0.1:6443',
    'kube-apiserver-nxibzygiy5v5qmcjmernh6erfe@10.0.0.2:6443',
  ]);
  assert.deepEqual(state.warnings, []);
});

test('without endpoints, as recorded, servers without an advertised address must be listed by hand', async () => {
  const { leases, endpoints, now } = await recorded('kubernetes-1.25-1.26');
  assert.deepEqual(endpoints, []);
  const { look } = clusterStates();
  const listed = [
    { id: 'a', url: 'https://10.0.0.1:6443' },
    { id: 'kube-apiserver-nxibzygiy5v5qmcjmernh6erfe', url: 'https://10.0.0.2:6443' },
  ];
  const state = look({ leases, listed, now });
  assert.deepEqual(
    state.servers.map(({ id, holderIdentity }) => [id, holderIdentity !== undefined]),
    listed.map(({ id }) => [id, id !== 'a']),
  );
});

test('a Lease is read as upstream writes it, and its odd forms do no harm', () => {
  const lease = parseIdentityLease({
    metadata: {
      name: 'apiserver-x',
      labels: { 'kubernetes.io/hostname': 'cp-a' },
      annotations: { 'kubernetes.io/peer-advertise-address': '[fd00::1]:6443' },
    },
    spec: {
      holderIdentity: 'apiserver-x_1',
      leaseDurationSeconds: 3600,
      renewTime: '2026-01-31T00:00:00.123456Z',
    },
  });
  assert.deepEqual(lease, {
    id: 'apiserver-x',
    hostname: 'cp-a',
    address: '[fd00::1]:6443',
    holderIdentity: 'apiserver-x_1',
    renewedAt: Date.UTC(2026, 0, 31, 0, 0, 0, 123),
    createdAt: undefined,
    durationMilliseconds: 3_600_000,
  });
  const odd = parseIdentityLease({
    metadata: {
      name: 'x',
      labels: { 'kubernetes.io/hostname': '' },
      annotations: { 'kubernetes.io/peer-advertise-address': ':6443' },
    },
    spec: { renewTime: 'yesterday' },
  });
  assert.deepEqual(
    [odd.hostname, odd.address, odd.holderIdentity, odd.renewedAt],
    [undefined, ':6443', '', Number.NEGATIVE_INFINITY],
  );
  assert.throws(() => parseIdentityLease({ kind: 'Lease' }), { code: 'InvalidDocument' });
});
