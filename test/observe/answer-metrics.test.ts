import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { openHttp2 } from '../support/clients/tls-client.ts';
import { sampleValue } from '../support/prometheus-text.ts';
import { mixedCluster, startObservedRouter } from '../support/routers/observed-router.ts';
import { snapshotOf } from '../support/snapshots/snapshot-builder.ts';

const bytes = 'mixed_version_proxy_response_bytes_total';
const hits = 'aggregator_discovery_peer_aggregated_cache_hits_total';
const misses = 'aggregator_discovery_peer_aggregated_cache_misses_total';
const aggregated = ['accept', 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'];

describe('metrics of answers', () => {
  it('count the bytes that a destination answers with, by what was asked for', async (context) => {
    const { ask, push, peer, scrape } = await startObservedRouter(context);
    await push(mixedCluster(peer));
    const { text } = await ask('/apis/batch/v1/namespaces/a/jobs/b');
    await ask('/apis/batch/v1/namespaces/a/jobs/b');
    await ask('/api/v1/namespaces/a/pods');
    const families = await scrape();
    const job = { verb: 'GET', group: 'batch', resource: 'jobs', scope: 'resource' };
    assert.ok(text.length > 0);
    assert.equal(sampleValue(families, bytes, job), 2 * text.length);
    const local = sampleValue(families, bytes, { verb: 'LIST', resource: 'pods' }) ?? 0;
    assert.ok(local > 0, 'those of the local server too');
    // The push before, and this scrape: the router's own answers.
    assert.equal(families.get(bytes)?.samples.length, 2);
  });

  it('count those of a watch while it is open', async (context) => {
    const { started, push, peer, scrape } = await startObservedRouter(context);
    await push(mixedCluster(peer));
    const client = openHttp2(context, {
      port: started.port,
      ca: started.authorities.cluster.certificate,
      pair: await started.user('watcher'),
    });
    const watch = client.request({ ':path': '/apis/batch/v1/jobs?watch=1' });
    await once(watch, 'data');
    const labels = { verb: 'WATCH', resource: 'jobs' };
    assert.equal(sampleValue(await scrape(), bytes, labels), 'ADDED\n'.length);
    peer.watches[0]?.write('MODIFIED\n');
    await once(watch, 'data');
    assert.equal(sampleValue(await scrape(), bytes, labels), 'ADDED\nMODIFIED\n'.length);
  });

  it('tell merged discovery that was there from discovery that was merged for a request', async (context) => {
    const { ask, push, scrape } = await startObservedRouter(context);
    const resources = [
      { resource: 'pods', scope: 'Namespaced' as const, singularResource: 'pod', verbs: ['get'] },
    ];
    const discovery = ['', 'apps'].map((name) => ({
      metadata: { name },
      versions: [{ version: 'v1', freshness: 'Current' as const, resources }],
    }));
    const snapshot = snapshotOf({ 'cp-a': { serves: ['v1/pods', 'apps/v1/pods'], discovery } });
    assert.equal((await push(snapshot)).status, 200);
    const counted = async () => {
      const families = await scrape();
      return [sampleValue(families, hits), sampleValue(families, misses)];
    };
    for (const [target, expected] of [
      ['/apis', [0, 1]],
      ['/apis', [1, 1]],
      ['/api', [1, 2]],
    ] as const) {
      const answer = await ask(target, { headers: aggregated });
      assert.match(answer.text, /APIGroupDiscoveryList/);
      assert.deepEqual(await counted(), expected, target);
    }
    // Neither the classic form nor the local view is one of them.
    await ask('/apis');
    await ask('/apis', { headers: ['accept', `${aggregated[1]};profile=nopeer`] });
    assert.deepEqual(await counted(), [1, 2]);
  });
});
