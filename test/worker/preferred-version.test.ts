// Which version answers on real workerd, where two servers of different versions understand one resource differently.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sealSnapshot } from '../../src/snapshot/signing/seal.ts';
import {
  administrator,
  startWorkerCluster,
  verified,
  type WorkerCluster,
} from '../support/edge/worker-cluster.ts';
import { snapshotOf } from '../support/snapshot-builder.ts';
import { workerOf } from '../support/worker-runtime.ts';

const autoscalers = '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers';
const pods = '/api/v1/namespaces/default/pods';
const digestOf = (text: string) => btoa(text.padEnd(8, '.'));

let edge: WorkerCluster;
before(async () => {
  edge = await startWorkerCluster(
    { PREFERRED_VERSION: 'newest' },
    { oldest: { PREFERRED_VERSION: 'oldest' }, undecided: { PREFERRED_VERSION: 'local' } },
  );
  const serves = ['v1/pods', 'autoscaling/v2/horizontalpodautoscalers'];
  const server = (url: string, minor: string) => ({
    serves,
    url,
    version: `v${minor}.0`,
    schemas: {
      'core.pods': { v1: digestOf('same') },
      'autoscaling.horizontalpodautoscalers': { v2: digestOf(minor) },
    },
  });
  const snapshot = snapshotOf({
    local: server(edge.local.origin, '1.31'),
    peer: server(edge.peer.origin, '1.36'),
  });
  const pushed = await edge.push(await sealSnapshot(snapshot, edge.syncKey.key));
  assert.equal(pushed.status, 200, JSON.stringify(pushed.body));
});
after(() => edge.close());

/** The server that a Worker's request arrives at, and the response. */
async function ask(worker: string, target: string, method = 'GET') {
  const before = { local: edge.local.requests.length, peer: edge.peer.requests.length };
  const isolate = await workerOf(edge.miniflare, worker);
  const body = method === 'GET' ? {} : { body: '{}' };
  const response = await isolate.fetch(`http://${worker}${target}`, {
    ...verified('CN=jane'),
    method,
    ...body,
  });
  await response.arrayBuffer();
  const arrived = {
    local: edge.local.requests.length - before.local,
    peer: edge.peer.requests.length - before.peer,
  };
  return { arrived, warning: response.headers.get('warning') };
}

const atLocal = { local: 1, peer: 0 };
const atPeer = { local: 0, peer: 1 };

test('reads and writes of what differs go to the preferred version, everything else to the local server', async () => {
  for (const method of ['GET', 'POST']) {
    assert.deepEqual((await ask('router', autoscalers, method)).arrived, atPeer, method);
    assert.deepEqual((await ask('router', pods, method)).arrived, atLocal, method);
  }
  assert.deepEqual((await ask('oldest', autoscalers)).arrived, atLocal);
  assert.deepEqual((await ask('undecided', autoscalers)).arrived, atLocal);
});

test('v1/status says which version answers', async () => {
  const isolate = await workerOf(edge.miniflare, 'router');
  const response = await isolate.fetch('http://router/.mixed-version-proxy/v1/status', administrator);
  const { preferredVersion } = (await response.json()) as { preferredVersion: object };
  assert.deepEqual(preferredVersion, {
    configured: 'newest',
    scope: 'differing',
    minor: '1.36',
    coming: null,
    enforcementDiffers: false,
    required: false,
  });
});
