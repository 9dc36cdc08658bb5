// New isolates on real workerd: their environment, and their parts, which are loaded by the requests that first need them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWorkerCluster, verified, type WorkerCluster } from '../support/edge/worker-cluster.ts';
import { startWorkers, workerOf } from '../support/edge/worker-runtime.ts';

const pods = '/api/v1/namespaces/default/pods';
const jobs = '/apis/batch/v1/namespaces/default/jobs';

async function ask({ miniflare }: WorkerCluster, worker: string, path: string): Promise<[number, string]> {
  const response = await (await workerOf(miniflare, worker)).fetch(
    `http://${worker}${path}`,
    verified('CN=jane'),
  );
  return [response.status, await response.text()];
}

test('the first requests of an isolate, all at once, are answered as any later one', async () => {
  const edge = await startWorkerCluster({}, { new: {} });
  try {
    await edge.pushGeneration(1);
    const paths = [pods, jobs, '/livez', '/apis', '/readyz', '/.mixed-version-proxy/v1/status'];
    const all = Array.from({ length: 30 }, (_, index) => paths[index % paths.length] ?? '');
    const answers = await Promise.all(all.map((path) => ask(edge, 'new', path)));
    const statuses = new Map(all.map((path) => [path, new Set<number>()]));
    for (const [index, path] of all.entries()) statuses.get(path)?.add(answers[index]?.[0] ?? 0);
    assert.deepEqual(
      [...statuses].map(([path, seen]) => [path, [...seen]]),
      paths.map((path) => [path, [path.includes('status') ? 403 : 200]]),
    );
    assert.equal(edge.peer.requests.filter(({ target }) => target === jobs).length, 5);
  } finally {
    await edge.close();
  }
});

test('a part that cannot be loaded is a 500 Status for those who need it; everything else goes on', async () => {
  const edge = await startWorkerCluster({}, {}, { lacks: /^own-app/ });
  try {
    for (let request = 0; request < 2; request++) {
      const [status, text] = await ask(edge, 'router', '/livez');
      assert.equal(status, 500);
      assert.equal((JSON.parse(text) as { kind: string }).kind, 'Status');
      assert.equal((await ask(edge, 'router', pods))[0], 200);
    }
    // Each of them tried anew.
    assert.equal(edge.log.filter((line) => line.includes('internal error')).length, 2);
  } finally {
    await edge.close();
  }
});

test('an environment with faults answers 500, tells the client none of them and the log all', async () => {
  const log: string[] = [];
  const bindings = {
    LOCAL_SERVER: 'http://local.example',
    SNAPSHOT_KEYS: '{"keys":[]}',
    PREFERRED_VERSION: 'hope',
    ASSERTION_SIGNING_KEY: 'hunter2',
  };
  const miniflare = await startWorkers({ router: bindings }, { log: (line) => log.push(line) });
  try {
    for (let request = 0; request < 2; request++) {
      const response = await miniflare.dispatchFetch('http://router/livez');
      const text = await response.text();
      assert.equal(response.status, 500);
      assert.match(text, /"kind":"Status"/);
      assert.doesNotMatch(text, /SNAPSHOT|SERVER_ID|hunter2/);
    }
    // Told once, not with every request.
    assert.equal(log.length, 1);
    const [line = ''] = log;
    const names = [
      'SERVER_ID',
      'LOCAL_SERVER',
      'SNAPSHOT_KEYS',
      'PREFERRED_VERSION',
      'ASSERTION_SIGNING_KEY',
    ];
    for (const name of [...names, 'ASSERTION_ISSUER']) assert.match(line, new RegExp(name));
    assert.doesNotMatch(line, /hunter2/);
  } finally {
    await miniflare.dispose();
  }
});
