import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fakeServer, refusesConnections } from '../../../test/support/api-servers/fake-server-documents.ts';
import { syncCluster } from '../../../test/support/clusters/sync-cluster.ts';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import { parseRequestInfo } from '../../apimachinery/request-info.ts';
import { decide } from '../../routing/decide.ts';
import type { Snapshot } from '../../snapshot/format/schema.ts';
import { buildRoutingTable } from '../../snapshot/routing-table/build-routing-table.ts';
import { openRecording, snapshotFromFolder } from './recording.ts';
import { syncOnce } from './run-sync.ts';

const { signal } = new AbortController();

interface Recorded {
  readonly requests: readonly { readonly method: string; readonly url: string }[];
}

/** Decisions of each server's router on every request that kubectl was recorded to send, and on some more. */
async function decisions(snapshot: Snapshot | undefined): Promise<unknown[]> {
  assert.ok(snapshot !== undefined);
  const file = new URL('../../../test/fixtures/kubectl-requests.json', import.meta.url);
  const commands: readonly Recorded[] = JSON.parse(await readFile(file, 'utf8'));
  const requests = [
    ...commands.flatMap((command) => command.requests),
    { method: 'GET', url: '/apis/autoscaling/v2beta2/horizontalpodautoscalers' },
    { method: 'GET', url: '/apis/resource.k8s.io/v1/resourceclaims' },
    { method: 'GET', url: '/apis/flowcontrol.apiserver.k8s.io/v1beta3/flowschemas' },
    { method: 'PATCH', url: '/apis/apps/v1/namespaces/default/deployments/web/scale' },
  ];
  const table = buildRoutingTable(snapshot);
  return snapshot.servers.flatMap(({ id }) =>
    requests.map(({ method, url }) => {
      const { decision, reason, candidates } = decide(parseRequestInfo(method, url), table, {
        serverId: id,
        reroutedByVerifiedPeer: false,
      });
      return [id, method, url, decision, reason, candidates.map((candidate) => candidate.id)];
    }),
  );
}

test('a recorded cluster, read offline, leads to the same decisions as the running one', async (context) => {
  const cluster = await syncCluster(context);
  const versions = ['1.25', '1.26', '1.36'] as const;
  const running = await Promise.all(
    versions.map((version) => cluster.startServer({ version, name: `control-plane-${version}` })),
  );
  const servers = running.map(({ serverId, url }) => ({ id: serverId, url }));
  const folder = join(cluster.directory, 'recording');
  const recorded = await syncOnce({ ...cluster.credentials, servers, record: folder }, signal);
  assert.equal(recorded.ok, true);

  const offline = await snapshotFromFolder(folder);
  assert.ok(offline.ok, JSON.stringify([...offline.readings.values()].filter(({ ok }) => !ok)));
  assert.deepEqual(offline.warnings, []);
  const files = [{ file: join(cluster.directory, 'live'), unsigned: true }];
  const live = await syncOnce({ ...cluster.credentials, servers, files }, signal);
  const expected = await decisions(live.snapshot);
  assert.deepEqual(await decisions(offline.snapshot), expected);
  const schemas = (snapshot: Snapshot | undefined) =>
    snapshot?.servers.map(({ serves }) => snapshot.servedSets[serves]?.schemas);
  assert.deepEqual(schemas(offline.snapshot), schemas(live.snapshot));
  assert.ok(schemas(live.snapshot)?.every((each) => Object.keys(each ?? {}).length > 50));
  assert.ok(expected.some((row) => JSON.stringify(row).includes('ServedByPeer')));
  assert.deepEqual(
    offline.snapshot?.servers.map(({ version }) => version),
    live.snapshot?.servers.map(({ version }) => version),
  );
});

test('a recording has one file per response, as the fixtures have, with its status in the name', async (context) => {
  const cluster = await syncCluster(context);
  const server = await cluster.startServer({ version: '1.26', name: 'server' });
  const other = await cluster.startServer({ version: '1.25', name: 'other' });
  const folder = join(cluster.directory, 'recording');
  const servers = [server, other].map(({ serverId, url }) => ({ id: serverId, url }));
  await syncOnce({ ...cluster.credentials, servers, record: folder }, signal);
  const own = await readdir(join(folder, server.serverId));
  for (const file of ['version.json', 'aggregated_apis.json', 'openapi__v3.json', 'apis__apps__v1.json']) {
    assert.ok(own.includes(file), file);
  }
  const openApi = await readFile(join(folder, server.serverId, 'openapi__v3__apis__apps__v1.json'), 'utf8');
  assert.equal(typeof JSON.parse(openApi).components.schemas, 'object');
  // Group versions that only the other server serves are listed by both.
  const ofOlder = await readdir(join(folder, other.serverId));
  assert.ok(ofOlder.includes('apis__flowcontrol.apiserver.k8s.io__v1beta3.404.txt'), ofOlder.join(' '));
});

test('the cluster of a kubeconfig is recorded as well, its servers each in a folder', async (context) => {
  const cluster = await syncCluster(context);
  const server = await cluster.startServer({ version: '1.36', name: 'server' });
  const folder = join(cluster.directory, 'recording');
  const kubernetes = { kubeconfig: await cluster.kubeconfig(server) };
  const peers = { allowLoopback: true };
  const live = await syncOnce(
    { ...cluster.credentials, servers: [], kubernetes, peers, record: folder },
    signal,
  );
  assert.equal(live.ok, true);
  // A recording has the schemas of one version as well.
  const offline = await snapshotFromFolder(folder, { alwaysReadsSchemas: true });
  assert.ok(offline.ok, JSON.stringify([...offline.readings.values()]));
  assert.deepEqual(
    Object.keys(offline.snapshot?.servedSets ?? {}),
    Object.keys(live.snapshot?.servedSets ?? {}),
  );
  const leases = 'apis__coordination.k8s.io__v1__namespaces__kube-system__leases@';
  assert.ok((await readdir(folder)).some((file) => file.startsWith(leases)));
  // The recording has addresses and versions of the control plane.
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const { mode } = await stat(join(entry.parentPath, entry.name));
    assert.equal(mode & 0o777, entry.isDirectory() ? 0o700 : 0o600, entry.name);
  }
});

test('no request could return a secret, and no credentials are written', async (context) => {
  const cluster = await syncCluster(context);
  const urls: string[] = [];
  const server = await cluster.startServer({
    version: '1.36',
    name: 'server',
    onRequest: ({ url }) => urls.push(url),
  });
  const folder = join(cluster.directory, 'recording');
  const servers = [{ id: server.serverId, url: server.url }];
  await syncOnce({ ...cluster.credentials, servers, record: folder }, signal);
  assert.ok(urls.some((url) => url.startsWith('/apis')));
  assert.deepEqual(
    urls.filter((url) => /secrets|serviceaccounts|configmaps|token/.test(url)),
    [],
  );
  const names = await readdir(folder, { recursive: true, withFileTypes: true });
  const recorded = names.filter((candidate) => candidate.isFile());
  assert.ok(recorded.length > 20);
  for (const entry of recorded) {
    const text = await readFile(join(entry.parentPath, entry.name), 'utf8');
    assert.doesNotMatch(text, /PRIVATE KEY|Bearer /, entry.name);
  }
});

test('a folder that holds something is left as it is', async (context) => {
  const folder = join(await temporaryDirectory(context), 'used');
  await mkdir(folder);
  await writeFile(join(folder, 'notes.txt'), 'mine');
  await assert.rejects(openRecording(folder), /is not empty/);
  assert.deepEqual(await readdir(folder), ['notes.txt']);
});

test('a server that cannot be read is told, and the others are recorded', async (context) => {
  const cluster = await syncCluster(context);
  const server = await cluster.startServer({ version: '1.26', name: 'server' });
  const folder = join(cluster.directory, 'recording');
  const servers = [
    { id: 'down', url: 'https://127.0.0.1:1' },
    { id: server.serverId, url: server.url },
  ];
  const { ok, readings } = await syncOnce({ ...cluster.credentials, servers, record: folder }, signal);
  assert.equal(ok, false);
  assert.equal(readings.get('down')?.ok, false);
  await mkdir(join(folder, 'down'));
  const offline = await snapshotFromFolder(folder);
  assert.equal(offline.ok, false);
  assert.equal(offline.readings.get('down')?.ok, false);
  assert.equal(offline.readings.get(server.serverId)?.ok, true);
});

test('an ID that is no name of a folder is refused', async (context) => {
  const recording = await openRecording(join(await temporaryDirectory(context), 'recording'));
  for (const id of ['../escape', 'a/b', '', '.']) {
    assert.throws(() => recording.ofServer(id, fakeServer({ '/api': refusesConnections })), /is not the ID/);
  }
});
