// Isolates of one Worker on real workerd, which keep their snapshot in one Durable Object.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { DurableObjectNamespace } from '../../src/edge/platform/bindings.ts';
import { sealedSnapshotLimit } from '../../src/snapshot/format/limits.ts';
import { sealSnapshot } from '../../src/snapshot/signing/seal.ts';
import { administrator, startWorkerCluster, type WorkerCluster } from '../support/edge/worker-cluster.ts';
import { workerOf } from '../support/edge/worker-runtime.ts';
import { eventually } from '../support/eventually.ts';

describe('isolates of one Worker', () => {
  let edge: WorkerCluster;
  before(async () => {
    edge = await startWorkerCluster({}, { 'router-b': {}, 'router-c': {} });
  });
  after(() => edge.close());

  /** The generation that an isolate answers by. */
  async function generationOf(worker: string): Promise<number | undefined> {
    const isolate = await workerOf(edge.miniflare, worker);
    const url = `http://${worker}/.mixed-version-proxy/v1/status`;
    const response = await isolate.fetch(url, administrator);
    const { snapshot } = (await response.json()) as { snapshot: { generation: number } | null };
    return snapshot?.generation;
  }

  /** Each question is a request, behind which the isolate looks at the store when it is time to. */
  async function untilGeneration(worker: string, generation: number): Promise<void> {
    await eventually(async () => (await generationOf(worker)) === generation);
  }

  test('what one isolate has taken is in use in the others, and none takes anything older', async () => {
    const accepted = await edge.pushGeneration(5);
    assert.deepEqual(
      [accepted.status, accepted.body.result, accepted.body.persisted],
      [200, 'accepted', true],
    );
    // The first request of the isolate reads the store; this isolate has never been asked before.
    assert.equal((await edge.pushGeneration(4, 'router-b')).status, 409);
    assert.equal(await generationOf('router-b'), 5);
    assert.equal((await edge.pushGeneration(6, 'router-b')).body.result, 'accepted');
    // The first one still goes by 5, and is brought up to date behind its requests.
    await untilGeneration('router', 6);
    assert.equal((await edge.pushGeneration(5)).status, 409);
  });

  test('of pushes to several isolates at once the highest generation is what stays', async () => {
    const generations = [11, 14, 12, 15, 13];
    const workers = ['router', 'router-b', 'router-c'];
    const answers = await Promise.all(
      generations.map((generation, index) => edge.pushGeneration(generation, workers[index % 3])),
    );
    assert.ok(answers.every(({ status }) => status === 200 || status === 409));
    for (const worker of workers) {
      await untilGeneration(worker, 15);
    }
  });
});

test('a Durable Object refuses what is larger than any snapshot, whatever an isolate sends, and keeps what it had', async () => {
  const edge = await startWorkerCluster();
  try {
    await edge.pushGeneration(2);
    // Typed for handlers of its own kind of namespaces only.
    const given: unknown = await edge.miniflare.getDurableObjectNamespace('SNAPSHOT_OBJECT', 'router');
    const namespace = given as DurableObjectNamespace;
    const stub = namespace.get(namespace.idFromName('snapshot'));
    const held = await stub.fetch('https://snapshot-object/');
    // Read at once: a body that waits does not outlive a connection that the refusal ends.
    const heldText = await held.text();
    const headers = { 'if-match': held.headers.get('etag') ?? '' };
    const body = 'x'.repeat(sealedSnapshotLimit + 1);
    const refused = await stub.fetch('https://snapshot-object/', { method: 'PUT', headers, body });
    assert.equal(refused.status, 413);
    await refused.body?.cancel();
    const kept = await stub.fetch('https://snapshot-object/');
    assert.equal(await kept.text(), heldText);
  } finally {
    await edge.close();
  }
});

test('a snapshot of several megabytes is kept in rows that a Durable Object takes, and read whole', async () => {
  const edge = await startWorkerCluster({}, { 'router-b': {} });
  try {
    const large = edge.snapshot(2);
    const customResourceGroups = Array.from({ length: 18_000 }, (_, index) => ({
      group: `${`g${index}`.padEnd(60, 'y')}.${'z'.repeat(60)}.example.com`,
      version: 'v1',
    }));
    const jws = await sealSnapshot({ ...large, customResourceGroups }, edge.syncKey.key);
    assert.ok(jws.length > 3 * 1024 * 1024, `only ${jws.length} characters`);
    const { status, body } = await edge.push(jws);
    assert.deepEqual([status, body.persisted], [200, true], JSON.stringify(body).slice(0, 300));
    const again = await edge.push(jws, 'router-b');
    assert.deepEqual([again.status, again.body.result], [200, 'unchanged']);
  } finally {
    await edge.close();
  }
});
