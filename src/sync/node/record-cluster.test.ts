import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  classicResponses,
  fakeServer,
  refusesConnections,
} from '../../../test/support/fake-server-documents.ts';
import { syncCluster } from '../../../test/support/sync-cluster.ts';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import { parseRequestInfo } from '../../apimachinery/request-info.ts';
import { decide } from '../../routing/decide.ts';
import type { Snapshot } from '../../snapshot/format/schema.ts';
import { buildRoutingTable } from '../../snapshot/routing-table/build-routing-table.ts';
import { recordCluster, runRecording, snapshotFromFolder } from './recording.ts';
import { syncOnce } from './run-sync.ts';

const { signal } = new AbortController();

interface Recorded {
  readonly requests: readonly { readonly method: string; readonly url: string }[];
}

/** What each server's router would do with every request that kubectl was recorded to send, and some more. */
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
  const recorded = await runRecording({ ...cluster.credentials, servers }, folder, signal);
  assert.deepEqual(recorded.issues, []);

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

  const shared = (await readdir(folder)).filter((name) => name.endsWith('.json'));
  assert.deepEqual(shared.sort(), [
    'apiservices.json',
    'customresourcedefinitions.json',
    'endpointslices.json',
    'leases.json',
    'storageversions.json',
  ]);
  const leases = JSON.parse(await readFile(join(folder, 'leases.json'), 'utf8'));
  assert.equal(leases.items.length, versions.length);
});

test('a group version that /apis does not list is recorded when the OpenAPI index names it', async (context) => {
  const path = '/apis/batch/v1beta1';
  const documents = fakeServer({
    ...classicResponses({ v1: ['pods'], 'batch/v1': ['jobs'] }),
    [path]: classicResponses({ 'batch/v1beta1': ['cronjobs'] })[path] ?? {},
    '/openapi/v3': {
      paths: { 'apis/batch/v1beta1': { serverRelativeURL: '/openapi/v3/apis/batch/v1beta1?hash=1' } },
    },
    '/openapi/v3/apis/batch/v1beta1': {},
  });
  const folder = join(await temporaryDirectory(context), 'recording');
  await recordCluster({ servers: [{ id: 'a', documents }], folder, signal });
  const { readings } = await snapshotFromFolder(folder);
  const reading = readings.get('a');
  assert.ok(reading?.ok, JSON.stringify(reading));
  assert.deepEqual(reading.set.storageVersions['batch.cronjobs'], ['v1beta1']);
});

test('a recording holds the recorded form, file for file', async (context) => {
  const cluster = await syncCluster(context);
  const server = await cluster.startServer({ version: '1.26', name: 'server' });
  const other = await cluster.startServer({ version: '1.25', name: 'other' });
  const folder = join(cluster.directory, 'recording');
  const servers = [server, other].map(({ serverId, url }) => ({ id: serverId, url }));
  await runRecording({ ...cluster.credentials, servers }, folder, signal);
  const own = join(folder, server.serverId);
  const fixture = new URL('../../../test/fixtures/kubernetes-1.25-1.26/b/', import.meta.url);
  // That recording is older than the documents of group versions in one.
  const general = (names: readonly string[]) =>
    names.filter((name) => !/^(apis__|404_|openapi_v3_)/.test(name)).sort();
  assert.deepEqual(general(await readdir(own)), general(await readdir(fixture)));
  // What only the other server serves is listed by both, and its 404 is recorded with its code.
  const status = await readFile(join(own, 'status.txt'), 'utf8');
  assert.match(status, new RegExp(`^${server.serverId} /apis/autoscaling/v2beta2 404$`, 'm'));
  assert.match(status, new RegExp(`^${server.serverId} /apis/apps/v1 200$`, 'm'));
  const openApi = JSON.parse(await readFile(join(own, 'openapi_v3_apis_apps_v1.json'), 'utf8'));
  assert.equal(typeof openApi.components.schemas, 'object');
  assert.match(
    await readFile(join(own, 'aggregated_apis.ct'), 'utf8'),
    /^200 application\/json;g=apidiscovery\.k8s\.io;v=v2beta1;as=APIGroupDiscoveryList$/m,
  );
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
  await runRecording(
    { ...cluster.credentials, servers: [{ id: server.serverId, url: server.url }] },
    folder,
    signal,
  );
  assert.deepEqual(
    urls.filter((url) => /secrets|serviceaccounts|configmaps|token/.test(url)),
    [],
  );
  const names = await readdir(folder, { recursive: true, withFileTypes: true });
  for (const entry of names.filter((candidate) => candidate.isFile())) {
    const text = await readFile(join(entry.parentPath, entry.name), 'utf8');
    assert.doesNotMatch(text, /PRIVATE KEY|Bearer /, entry.name);
  }
});

test('a folder that holds something is left as it is', async (context) => {
  const cluster = await syncCluster(context);
  const folder = join(cluster.directory, 'used');
  await mkdir(folder);
  await writeFile(join(folder, 'notes.txt'), 'mine');
  const servers = [{ id: 'a', documents: fakeServer({}) }];
  await assert.rejects(recordCluster({ servers, folder, signal }), /is not empty/);
  assert.deepEqual(await readdir(folder), ['notes.txt']);
});

test('documents that cannot be read are named, and the others are recorded', async (context) => {
  const cluster = await syncCluster(context);
  const server = await cluster.startServer({ version: '1.26', name: 'server' });
  const folder = join(cluster.directory, 'recording');
  const down = { id: 'down', url: 'https://127.0.0.1:1' };
  const { issues, files } = await runRecording(
    { ...cluster.credentials, servers: [down, { id: server.serverId, url: server.url }] },
    folder,
    signal,
  );
  assert.ok(files > 10);
  assert.ok(issues.every((issue) => issue.startsWith('down/')));
  assert.deepEqual(issues.map((issue) => issue.split(':')[0]).sort(), [
    'down/aggregated_api.json',
    'down/aggregated_apis.json',
    'down/apis.json',
    'down/openapi_v3.json',
    'down/version.json',
  ]);
  const offline = await snapshotFromFolder(folder);
  assert.equal(offline.ok, false);
  assert.equal(offline.readings.get('down')?.ok, false);
  assert.equal(offline.readings.get(server.serverId)?.ok, true);
});

test('an ID that is no name of a folder writes nothing', async (context) => {
  const cluster = await syncCluster(context);
  const documents = fakeServer({ '/api': refusesConnections });
  const folder = join(cluster.directory, 'recording');
  for (const id of ['../escape', 'a/b', '', '.']) {
    await assert.rejects(recordCluster({ servers: [{ id, documents }], folder, signal }), /is not the ID/);
  }
  assert.equal((await readdir(cluster.directory)).includes('recording'), false);
});
