import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { metricCatalogue, syncCatalogue } from '../../src/node/metrics/catalogue.ts';
import { processMetricNames } from '../../src/node/metrics/process-metrics.ts';
import { openHttp2, openSocket, readUntil } from '../support/clients/tls-client.ts';
import { listenOnLoopback } from '../support/listen-on-loopback.ts';
import { labelOf, type ParsedFamily, sampleValue } from '../support/prometheus-text.ts';
import {
  mixedCluster,
  type ObservedRouter,
  startObservedRouter,
} from '../support/routers/observed-router.ts';
import { collectGarbage } from '../support/security/memory.ts';
import { snapshotOf } from '../support/snapshots/snapshot-builder.ts';

/** Does whatever makes a series of each metric. */
async function playSession(context: TestContext, router: ObservedRouter): Promise<void> {
  const { started, ask, push, peer } = router;
  const ca = started.authorities.cluster.certificate;
  await push(mixedCluster(peer));
  await push(mixedCluster(peer));
  await ask('/apis/batch/v1/jobs');
  assert.equal((await ask('/apis/policy/v1/evictions')).status, 503);
  assert.equal((await ask('/apis/lost/v1/things')).status, 503);
  await ask('/apis', { headers: ['accept', 'application/json;profile=nopeer'] });
  const pair = await started.user('someone');
  const exec = await openSocket(context, { port: started.port, ca, pair });
  const path = '/api/v1/namespaces/a/pods/b/exec';
  exec.write(`POST ${path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n`);
  await readUntil(exec, '101 Switching Protocols');
  collectGarbage();
  await leaveUnanswered(context, router);
}

/** A client that goes away while the server that it waits for says nothing. */
async function leaveUnanswered(context: TestContext, router: ObservedRouter): Promise<void> {
  const sockets: Socket[] = [];
  const silent = createTcpServer((socket) => void sockets.push(socket));
  const { port, stop } = await listenOnLoopback(silent);
  context.after(stop);
  const withSilent = snapshotOf(
    {
      'cp-a': { serves: ['v1/pods', 'v1/pods/exec'], address: '127.0.0.1:1' },
      'cp-b': { serves: ['v1/pods', 'batch/v1/jobs'], address: `127.0.0.1:${router.peer.port}` },
      'cp-c': { serves: ['policy/v1/evictions'], address: '127.0.0.1:1' },
      'cp-d': { serves: ['lost/v1/things'], withoutAddress: true },
      'cp-e': { serves: ['apps/v1/deployments'], address: `127.0.0.1:${port}` },
    },
    { generation: 2 },
  );
  assert.equal((await router.push(withSilent)).status, 200);
  const ca = router.started.authorities.cluster.certificate;
  const pair = await router.started.user('impatient');
  const client = openHttp2(context, { port: router.started.port, ca, pair });
  const request = client.request({ ':path': '/apis/apps/v1/deployments' });
  request.on('error', () => {});
  const inflight = 'mixed_version_proxy_destination_inflight_requests';
  await scrapeUntil(
    router,
    (families) => sampleValue(families, inflight, { destination: 'cp-e', request_kind: 'short' }) === 1,
  );
  request.close(8);
  await scrapeUntil(
    router,
    (families) => sampleValue(families, inflight, { destination: 'cp-e', request_kind: 'short' }) === 0,
  );
  const failing = client.request({ ':path': '/apis/apps/v1/deployments' });
  const failed = once(failing.resume(), 'close');
  await scrapeUntil(
    router,
    (families) => sampleValue(families, inflight, { destination: 'cp-e', request_kind: 'short' }) === 1,
  );
  for (const socket of sockets) socket.destroy();
  await failed;
}

async function scrapeUntil(
  router: ObservedRouter,
  condition: (families: ReadonlyMap<string, ParsedFamily>) => boolean,
): Promise<void> {
  while (!condition(await router.scrape()));
}

describe('metrics of a running router', () => {
  it('counts a rerouted request under upstream names, when it is over', async (context) => {
    const { ask, push, peer, scrape } = await startObservedRouter(context);
    assert.equal((await push(mixedCluster(peer))).status, 200);
    assert.equal((await ask('/apis/batch/v1/namespaces/a/jobs/b')).status, 200);
    assert.equal((await ask('/api/v1/namespaces/a/pods')).status, 200);
    const families = await scrape();
    const jobs = { group: 'batch', version: 'v1', resource: 'jobs' };
    assert.equal(sampleValue(families, 'apiserver_rerouted_request_total', { code: '200', ...jobs }), 1);
    assert.equal(families.get('apiserver_rerouted_request_total')?.samples.length, 1, 'local ones are none');
    const labels = { verb: 'GET', ...jobs, subresource: '', scope: 'resource', code: '200' };
    assert.equal(sampleValue(families, 'mixed_version_proxy_requests_total', labels), 1);
    const list = { verb: 'LIST', resource: 'pods', scope: 'namespace' };
    assert.equal(sampleValue(families, 'mixed_version_proxy_requests_total', list), 1);
    const answers = 'mixed_version_proxy_destination_requests_total';
    assert.equal(sampleValue(families, answers, { destination: 'cp-b', kind: 'peer', code: '200' }), 1);
    assert.equal(sampleValue(families, answers, { destination: 'cp-a', kind: 'local', code: '200' }), 1);
    const count = 'mixed_version_proxy_destination_response_duration_seconds';
    const measured = families
      .get(count)
      ?.samples.find(
        (sample) => sample.name === `${count}_count` && labelOf(sample, 'destination') === 'cp-b',
      );
    assert.equal(measured?.value, 1);
  });

  it('counts a watch as long-running while it is open, and as answered after it', async (context) => {
    const { started, ask, push, peer, scrape } = await startObservedRouter(context);
    await push(mixedCluster(peer));
    const pair = await started.user('watcher');
    const watcher = openHttp2(context, {
      port: started.port,
      ca: started.authorities.cluster.certificate,
      pair,
    });
    const watch = watcher.request({ ':path': '/apis/batch/v1/jobs?watch=1' });
    await once(watch, 'response');
    const labels = { verb: 'WATCH', resource: 'jobs' };
    const open = await scrape();
    assert.equal(
      sampleValue(open, 'mixed_version_proxy_current_inflight_requests', { request_kind: 'longRunning' }),
      1,
    );
    assert.equal(sampleValue(open, 'mixed_version_proxy_requests_total', labels), undefined);
    const inflight = { destination: 'cp-b', kind: 'peer', request_kind: 'longRunning' };
    assert.equal(sampleValue(open, 'mixed_version_proxy_destination_inflight_requests', inflight), 1);
    peer.watches[0]?.end();
    watch.resume();
    await once(watch, 'close');
    await ask('/api/v1/pods');
    const closed = await scrape();
    assert.equal(
      sampleValue(closed, 'mixed_version_proxy_current_inflight_requests', { request_kind: 'longRunning' }),
      0,
    );
    assert.equal(sampleValue(closed, 'mixed_version_proxy_destination_inflight_requests', inflight), 0);
    assert.equal(sampleValue(closed, 'mixed_version_proxy_requests_total', labels), 1);
    const durations = closed.get('mixed_version_proxy_request_duration_seconds')?.samples ?? [];
    assert.ok(durations.some((sample) => labelOf(sample, 'verb') === 'LIST'));
    assert.ok(
      durations.every((sample) => labelOf(sample, 'verb') !== 'WATCH'),
      'how long a client watches is no latency',
    );
  });

  it('shows every metric of the catalogue after a session, and no other', async (context) => {
    const router = await startObservedRouter(context, {
      'health-check-interval': ['1s'],
    });
    await playSession(context, router);
    const scraped = await router.scrape();
    // A router that reads the cluster itself has more: test/embedded-sync.test.ts.
    const ofReading = new Set<string>(Object.values(syncCatalogue).map(({ name }) => name));
    const entries = metricCatalogue
      .flatMap(({ metrics }) => metrics)
      .filter(({ name }) => !ofReading.has(name));
    const names = [...entries.map(({ name }) => name), ...processMetricNames];
    assert.deepEqual([...scraped.keys()].sort(), names.sort());
    for (const { name, type, help, samples } of scraped.values()) {
      if (processMetricNames.includes(name)) continue;
      const entry = entries.find((candidate) => candidate.name === name);
      assert.ok(samples.length > 0, `${name} has a series`);
      assert.equal(type, entry?.type);
      assert.match(help, /^\[ALPHA\] /);
      for (const { labels } of samples) {
        const { le: _, ...others } = labels;
        assert.deepEqual(Object.keys(others).sort(), [...(entry?.labels ?? [])].sort(), name);
      }
    }
  });

  it('leaves metrics under their plain names to the local server', async (context) => {
    const { ask } = await startObservedRouter(context);
    for (const path of ['/metrics', '/metrics/slis', '/metrics/cadvisor', '/statusz', '/flagz']) {
      const { status, text } = await ask(path);
      assert.equal(status, 200);
      assert.deepEqual(JSON.parse(text), { answeredBy: 'cp-a' });
    }
  });
});
