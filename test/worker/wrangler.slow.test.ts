// wrangler.toml, the file that operators use: what wrangler uploads by it, and that it runs, with nothing but variables.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setDefaultCACertificates } from 'node:tls';
import { promisify } from 'node:util';
import { createWranglerHarness, runtimeFile, type TestHarness } from '../../scripts/runtimes/index.ts';
import { entryModule } from '../../scripts/worker/bundle-worker.ts';
import { allHeaders } from '../../src/apimachinery/raw-headers.ts';
import { peerAssertionHeader } from '../../src/request/headers.ts';
import { sealSnapshot } from '../../src/snapshot/signing/seal.ts';
import { speaker } from '../support/assertions.ts';
import { createEdgeCluster, type EdgeCluster } from '../support/edge/edge-cluster.ts';
import { administrator, verified } from '../support/edge/worker-cluster.ts';

const root = join(import.meta.dirname, '..', '..');
let directory: string;
let uploaded: { readonly stdout: string; readonly directory: string };
let cluster: EdgeCluster;
let harness: TestHarness;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'worker-wrangler-'));
  uploaded = await dryRun(join(directory, 'uploaded'));
  cluster = await createEdgeCluster();
  const { authority, local, syncKey } = cluster;
  // Stands for the trust store of the platform: the harness has this process fetch for its Workers.
  setDefaultCACertificates([authority.certificate]);
  harness = await createWranglerHarness({
    root,
    workers: [
      {
        configPath: 'wrangler.toml',
        prebuiltWorkerDir: uploaded.directory,
        vars: {
          SERVER_ID: 'local',
          LOCAL_SERVER: local.origin,
          SNAPSHOT_KEYS: JSON.stringify({ keys: [syncKey.publicJwk] }),
          CLIENT_CERTIFICATES: 'cf',
          ALLOW_LOOPBACK_PEERS: true,
        },
        secrets: {
          ASSERTION_SIGNING_KEY: JSON.stringify((await speaker('edge')).privateJwk),
        },
      },
    ],
  });
  await harness.listen();
});
after(async () => {
  await harness.close();
  await cluster.close();
  await rm(directory, { recursive: true, force: true });
});

async function dryRun(outdir: string): Promise<typeof uploaded> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [runtimeFile('wrangler/bin/wrangler.js'), 'deploy', '--dry-run', '--outdir', outdir],
    { cwd: root, env: { ...process.env, WRANGLER_SEND_METRICS: 'false' }, timeout: 120_000 },
  );
  return { stdout, directory: outdir };
}

test('wrangler takes the modules as they are, offline and without an account', async () => {
  assert.match(uploaded.stdout, /SNAPSHOT_OBJECT \(SnapshotObject\)/);
  const files = await readdir(uploaded.directory);
  assert.ok(files.includes(entryModule), files.join());
  assert.ok(files.length > 10, files.join());
});

test('a pushed snapshot is what requests are then routed by, told to peers by assertions', async () => {
  const { peer, snapshot, syncKey } = cluster;
  const worker = harness.getWorker();
  const body = await sealSnapshot(snapshot(1), syncKey.key);
  const pushed = await worker.fetch('/.mixed-version-proxy/v1/snapshot', {
    method: 'PUT',
    body,
    ...administrator,
  } as object);
  assert.equal(pushed.status, 200, JSON.stringify(harness.getLogs()));
  await worker.evictDurableObject('SnapshotObject', { name: 'snapshot' });
  peer.answer = (outgoing) => void outgoing.end('{}');
  const response = await worker.fetch(
    '/apis/batch/v1/namespaces/default/jobs',
    verified('CN=jane') as object,
  );
  assert.deepEqual([response.status, await response.text()], [200, '{}'], JSON.stringify(harness.getLogs()));
  const { headers = [], target } = peer.requests.at(-1) ?? {};
  assert.equal(target, '/apis/batch/v1/namespaces/default/jobs');
  assert.equal(allHeaders(headers, peerAssertionHeader).length, 1);
});
