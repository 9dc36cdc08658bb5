import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { syncCluster } from '../../../test/support/clusters/sync-cluster.ts';
import { buildRoutingTable } from '../../snapshot/routing-table/build-routing-table.ts';
import { syncOnce } from './run-sync.ts';

const { signal } = new AbortController();

/** A cluster of 1.25, 1.26 and 1.36, of which the last knows one field of autoscalers more. */
async function mixedCluster(context: TestContext) {
  const cluster = await syncCluster(context);
  const addedFields = { 'autoscaling/v2/HorizontalPodAutoscaler': ['tolerance'] };
  const running = await Promise.all([
    cluster.startServer({ version: '1.25', name: 'a' }),
    cluster.startServer({ version: '1.26', name: 'b' }),
    cluster.startServer({ version: '1.36', name: 'c', addedFields }),
  ]);
  const servers = running.map(({ serverId, url }) => ({ id: serverId, url }));
  const once = async () => {
    const files = [{ file: join(cluster.directory, 'snapshot'), unsigned: true }];
    const result = await syncOnce({ ...cluster.credentials, servers, files }, signal);
    assert.equal(result.ok, true);
    assert.deepEqual(result.warnings, []);
    return result.snapshot ?? assert.fail();
  };
  return { once, ids: servers.map(({ id }) => id) };
}

test('with servers of several versions, the snapshot shows which resources differ', async (context) => {
  const { once, ids } = await mixedCluster(context);
  const snapshot = await once();
  const [a, b, c] = ids.map(
    (id) =>
      snapshot.servedSets[snapshot.servers.find((server) => server.id === id)?.serves ?? '']?.schemas ?? {},
  );
  const autoscalers = [a, b, c].map((schemas) => schemas?.['autoscaling.horizontalpodautoscalers']?.['v2']);
  assert.notEqual(autoscalers[0], undefined);
  assert.equal(autoscalers[0], autoscalers[1]);
  assert.notEqual(autoscalers[1], autoscalers[2]);
  const table = buildRoutingTable(snapshot);
  assert.equal(table.resource('autoscaling', 'v2', 'horizontalpodautoscalers')?.differs, true);
  assert.equal(table.resource('', 'v1', 'configmaps')?.differs, false);
  // Whatever two of them serve in one version is the same but for that.
  const differing = Object.entries(a ?? {}).flatMap(([name, versions]) =>
    Object.entries(versions).flatMap(([version, digest]) =>
      [b, c].some((other) => (other?.[name]?.[version] ?? digest) !== digest) ? [`${name} ${version}`] : [],
    ),
  );
  assert.deepEqual(differing, ['autoscaling.horizontalpodautoscalers v2']);
});
