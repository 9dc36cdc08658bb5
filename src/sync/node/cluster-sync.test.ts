import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { exampleCluster } from '../../../test/support/clusters/example-cluster.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { loadClusterAccess } from '../../node/credentials/cluster-access.ts';
import type { Snapshot } from '../../snapshot/format/schema.ts';
import type { SyncTiming } from '../documents/timing.ts';
import { SyncLoop } from '../sync-loop.ts';
import { runOnce } from '../sync-once.ts';
import type { SyncParts } from '../sync-parts.ts';
import { ApiClient } from './api-client.ts';
import { openCluster } from './open-cluster.ts';

const { signal } = new AbortController();
const soon = { initialMilliseconds: 5, maximumMilliseconds: 20 };
const timing: SyncParts['timing'] = { interval: 20, settle: 5, longestWait: 500, readBackOff: soon };

async function opened(context: TestContext, kubeconfig: string, given: Partial<SyncTiming> = {}) {
  const access = await loadClusterAccess({ kubeconfig });
  const client = new ApiClient(access);
  context.after(() => client.close());
  const timing = { watchBackOff: soon, departure: 100, ...given };
  return (previous: Snapshot | undefined) =>
    openCluster(client, { servers: [], previous, timing, peers: { allowLoopback: true } }, access);
}

/** Runs the sync job until the test is over. */
async function syncing(
  context: TestContext,
  kubeconfig: string,
  given: Pick<Partial<SyncTiming>, 'grace'> = {},
) {
  const sourceAfter = await opened(context, kubeconfig, given);
  const taken: Snapshot[] = [];
  const loop = new SyncLoop({
    clusterSource: sourceAfter(undefined),
    previous: undefined,
    targets: [
      {
        name: 'router',
        async put({ snapshot }) {
          if (taken.at(-1) !== snapshot) taken.push(snapshot);
          return { kind: 'accepted' };
        },
      },
    ],
    timing,
  });
  const controller = new AbortController();
  const running = loop.run(controller.signal);
  context.after(() => {
    controller.abort();
    return running;
  });
  const now = () => taken.at(-1);
  return {
    loop,
    taken,
    /** The server's entry in the newest snapshot. */
    server: (id: string) => now()?.servers.find((server) => server.id === id),
    ids: () => now()?.servers.map(({ id }) => id) ?? [],
    serves(id: string, name: string, version: string): boolean {
      const key = now()?.servers.find((server) => server.id === id)?.serves ?? '';
      return now()?.servedSets[key]?.storageVersions[name]?.includes(version) === true;
    },
  };
}

/** Once both of two servers have been found, no snapshot is without one of them. */
function assertBothStayed(taken: readonly Snapshot[]): void {
  const counts = taken.map(({ servers }) => servers.length);
  assert.deepEqual(new Set(counts.slice(counts.indexOf(2))), new Set([2]));
}

test('a server that appears is in the snapshot, by either generation of its Lease; one that stops is departed, and then out', async (context) => {
  const cluster = await exampleCluster(context);
  const older = await cluster.start('cp-a', '1.26');
  const { ids, server, serves, taken } = await syncing(context, await cluster.kubeconfig(older.url), {
    grace: 300,
  });
  await eventually(() => server(older.serverId) !== undefined);
  assert.equal(server(older.serverId)?.address, `127.0.0.1:${older.port}`);
  assert.equal(server(older.serverId)?.hostname, 'cp-a');

  const newer = await cluster.start('cp-b', '1.36');
  await eventually(() => server(newer.serverId) !== undefined);
  assert.deepEqual(ids(), [older.serverId, newer.serverId].sort());
  assert.equal(server(newer.serverId)?.version, 'v1.36.0');
  assert.ok(serves(older.serverId, 'flowcontrol.apiserver.k8s.io.flowschemas', 'v1beta3'));
  assert.ok(serves(newer.serverId, 'flowcontrol.apiserver.k8s.io.flowschemas', 'v1'));

  await cluster.close(newer);
  await eventually(() => !ids().includes(newer.serverId));
  assert.deepEqual(ids(), [older.serverId]);
  const departed = taken.find(({ servers }) => servers.some(({ departedAt }) => departedAt !== undefined));
  const entry = departed?.servers.find(({ id }) => id === newer.serverId);
  assert.equal(entry?.stale, true);
  const set = departed?.servedSets[entry?.serves ?? ''];
  assert.deepEqual(set?.storageVersions['flowcontrol.apiserver.k8s.io.flowschemas'], ['v1']);
});

test('what a server served by its StorageVersions stays known while these are removed with its Lease, one by one', async (context) => {
  const cluster = await exampleCluster(context);
  const a = await cluster.start('cp-a', '1.25');
  const leases = { group: 'coordination.k8s.io', resource: 'leases' };
  const storageVersions = { group: 'internal.apiserver.k8s.io', resource: 'storageversions' };
  const told = 'apiserver-told';
  const labels = { 'apiserver.kubernetes.io/identity': 'kube-apiserver' };
  cluster.store.create(leases, {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: told, namespace: 'kube-system', labels },
    spec: { holderIdentity: told, leaseDurationSeconds: 3600, renewTime: new Date().toISOString() },
  });
  for (const resource of ['jobs', 'cronjobs']) {
    cluster.store.create(storageVersions, {
      apiVersion: 'internal.apiserver.k8s.io/v1alpha1',
      kind: 'StorageVersion',
      metadata: { name: `batch.${resource}` },
      status: { storageVersions: [{ apiServerID: told, servedVersions: ['batch/v1'] }] },
    });
  }
  const { server, serves } = await syncing(context, await cluster.kubeconfig(a.url));
  await eventually(() => serves(told, 'batch.jobs', 'v1') && serves(told, 'batch.cronjobs', 'v1'));
  cluster.removeLease(told);
  cluster.store.remove(storageVersions, '', 'batch.jobs');
  await eventually(() => server(told)?.departedAt !== undefined);
  cluster.store.remove(storageVersions, '', 'batch.cronjobs');
  assert.ok(serves(told, 'batch.jobs', 'v1') && serves(told, 'batch.cronjobs', 'v1'));
});

test('an extension API server and a custom resource show as soon as their objects do', async (context) => {
  const cluster = await exampleCluster(context);
  const a = await cluster.start('cp-a', '1.36');
  const { taken, ids } = await syncing(context, await cluster.kubeconfig(a.url));
  await eventually(() => ids().length === 1);
  const service = { namespace: 'kube-system', name: 'metrics' };
  cluster.store.create(
    { group: 'apiregistration.k8s.io', resource: 'apiservices' },
    {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: 'v1beta1.metrics.k8s.io' },
      spec: { group: 'metrics.k8s.io', version: 'v1beta1', service },
      status: { conditions: [{ type: 'Available', status: 'True' }] },
    },
  );
  cluster.store.create(
    { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions' },
    {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'widgets.example.com' },
      spec: { group: 'example.com', versions: [{ name: 'v1' }, { name: 'v2' }] },
    },
  );
  await eventually(() => taken.at(-1)?.customResourceGroups.length === 2);
  await eventually(
    () => taken.at(-1)?.apiServices.some(({ service }) => service?.name === 'metrics') === true,
  );
});

test('a control plane that stops and returns without its history is read correctly', async (context) => {
  // The grace is the default: a short one may be over before the first server that is back has been read.
  const cluster = await exampleCluster(context);
  const [a, b] = [await cluster.start('cp-a', '1.36'), await cluster.start('cp-b', '1.36')];
  const { ids, server, loop, taken } = await syncing(context, await cluster.kubeconfig(a.url));
  await eventually(() => ids().length === 2);
  await Promise.all([cluster.kill(a), cluster.kill(b)]);
  await eventually(() => loop.status().warnings.some((warning) => warning.includes('identity Leases')));
  await eventually(() => server(a.serverId)?.stale === true && server(b.serverId)?.stale === true);
  // Changes meanwhile are compacted away: the watches get 410.
  cluster.removeLease(b.serverId);
  cluster.removeLease(a.serverId);
  cluster.store.compact();
  await cluster.start('cp-a', '1.26', { port: a.port });
  await eventually(() => server(a.serverId)?.version === 'v1.26.0');
  await eventually(() => server(b.serverId)?.departedAt !== undefined);
  // Nothing is left to say but of the server that has departed.
  await eventually(() => loop.status().warnings.every((warning) => warning.includes(b.serverId)));
  assertBothStayed(taken);
});

test('one round lists everything, reads everyone, and leaves nothing open', async (context) => {
  const cluster = await exampleCluster(context);
  const a = await cluster.start('cp-a', '1.26', { advertiseAddress: '' });
  const b = await cluster.start('cp-b', '1.36');
  cluster.setEndpoints([a]);
  const sourceAfter = await opened(context, await cluster.kubeconfig(b.url));
  const once = { clusterSource: sourceAfter(undefined), targets: [], timing };
  const { ok, snapshot, warnings } = await runOnce(once, signal);
  assert.deepEqual(warnings, []);
  assert.equal(ok, true);
  assert.deepEqual(
    snapshot?.servers.map(({ id }) => id),
    [a.serverId, b.serverId].sort(),
  );

  await Promise.all([cluster.kill(a), cluster.kill(b)]);
  const gone = await opened(context, await cluster.kubeconfig(b.url));
  const failed = await runOnce({ ...once, clusterSource: gone(undefined) }, signal);
  assert.equal(failed.ok, false);
});

test('in single rounds, a server that left is departed, is no error, and is removed after the grace period', async (context) => {
  const cluster = await exampleCluster(context);
  const a = await cluster.start('cp-a', '1.36');
  const b = await cluster.start('cp-b', '1.26');
  const kubeconfig = await cluster.kubeconfig(a.url);
  const once = async (previous: Snapshot | undefined, grace?: number) => {
    const given = { departure: 0, ...(grace === undefined ? {} : { grace }) };
    const sourceAfter = await opened(context, kubeconfig, given);
    return runOnce({ clusterSource: sourceAfter(previous), previous, targets: [], timing }, signal);
  };
  const before = await once(undefined);
  await cluster.close(b);
  const left = await once(before.snapshot);
  assert.equal(left.ok, true);
  const departed = left.snapshot?.servers.find(({ id }) => id === b.serverId);
  assert.ok(departed?.departedAt !== undefined);
  assert.equal((await once(left.snapshot)).snapshot, left.snapshot, 'nothing has changed');
  const over = await once(left.snapshot, 1);
  assert.deepEqual(
    over.snapshot?.servers.map(({ id }) => id),
    [a.serverId],
  );
});

test('a token instead of a certificate reads servers and watches', async (context) => {
  const cluster = await exampleCluster(context);
  const tokens = new Map([['secret', { name: 'sync-job', uid: '', groups: [], extra: {} }]]);
  const a = await cluster.start('cp-a', '1.36', { tokens });
  const b = await cluster.start('cp-b', '1.36', { tokens });
  const kubeconfig = await cluster.kubeconfig(a.url, { user: { token: 'secret' } });
  const { ids } = await syncing(context, kubeconfig);
  await eventually(() => ids().length === 2);
  assert.deepEqual(ids(), [a.serverId, b.serverId].sort());
});
