import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askRouter, eventuallyReturns, syncCluster } from '../support/sync-cluster.ts';
import { startSyncProcess } from '../support/sync-process.ts';

const groupVersion = 'autoscaling/v2beta2';
const url = '/apis/autoscaling/v2beta2/namespaces/default/horizontalpodautoscalers';

for (const [signal, what] of [
  ['SIGKILL', 'killed without a word'],
  ['SIGTERM', 'ended in good order'],
] as const) {
  test(`of two sync jobs the other takes over when the leader is ${what}, with rising generations`, async (context) => {
    const cluster = await syncCluster(context);
    const older = await cluster.startServer({ version: '1.25', name: 'older' });
    const newer = await cluster.startServer({ version: '1.36', name: 'newer' });
    const router = await cluster.startRouter(newer);
    const flags = [
      ...['--target', router.origin, '--health-port', '0'],
      ...['--leader-elect', '--leader-elect-lease-duration', '3s'],
    ];
    const options = { servers: [older, newer], flags };
    const jobs = [startSyncProcess(context, cluster, options), startSyncProcess(context, cluster, options)];
    const client = askRouter(context, router.origin, cluster);
    const before = await eventuallyReturns(client.status, ({ snapshot }) => snapshot !== null);
    const leader = jobs.find(({ log }) => log().includes('Started leading'));
    const follower = jobs.find((job) => job !== leader);
    assert.ok(leader !== undefined && follower !== undefined);
    assert.doesNotMatch(follower.log(), /Started leading/);

    leader.signal(signal);
    const code = await leader.ended;
    assert.equal(code, signal === 'SIGKILL' ? null : 0);
    older.setGroupVersion(groupVersion, false);
    await eventuallyReturns(
      () => client.explain(url),
      ({ reason }) => reason === 'NotServedByAnyServer',
    );
    assert.match(follower.log(), /Started leading/);
    const after = await client.status();
    assert.ok((after.snapshot?.generation ?? 0) > (before.snapshot?.generation ?? 0));
    // One leader at a time: nobody had to be overtaken.
    assert.doesNotMatch(follower.log(), /newer-held/);
  });
}
