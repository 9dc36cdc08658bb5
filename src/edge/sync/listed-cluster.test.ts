import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReadError, type ServerDocuments } from '../../sync/documents/server-documents.ts';
import { createListedCluster } from './listed-cluster.ts';

const now = Date.UTC(2026, 0, 31, 12);

/** A server that has these lists, by the path of the collection, and responds with 404 to everything else. */
function server(id: string, lists: Readonly<Record<string, readonly object[]>>) {
  const asked: string[] = [];
  const documents: ServerDocuments = {
    async get(path) {
      asked.push(path);
      const items = Object.entries(lists).find(([each]) => path.includes(each))?.[1];
      const body = items === undefined ? { kind: 'Status', code: 404 } : { items };
      const status = items === undefined ? 404 : 200;
      return { status, contentType: 'application/json', body: JSON.stringify(body) };
    },
  };
  return { id, documents, asked };
}

function away(id: string) {
  const documents: ServerDocuments = {
    async get(path) {
      throw new ReadError('Unreachable', `${path}: away`);
    },
  };
  return { id, documents };
}

function lease(name: string, age: number): object {
  const renewTime = new Date(now - age).toISOString();
  return {
    metadata: { name, labels: { 'kubernetes.io/hostname': `host-of-${name}` } },
    spec: { holderIdentity: name, leaseDurationSeconds: 3600, renewTime },
  };
}

const storageVersion = {
  metadata: { name: 'batch.jobs' },
  status: { storageVersions: [{ apiServerID: 'b', servedVersions: ['batch/v1'] }] },
};

async function look(servers: readonly { id: string; documents: ServerDocuments }[]) {
  const cluster = createListedCluster(servers, () => now);
  await cluster.ready(new AbortController().signal);
  return cluster.look(() => undefined);
}

test('StorageVersions are those of the first server that serves them, wherever it stands in the list', async () => {
  const last = server('c', { storageversions: [] });
  const view = await look([
    away('a'),
    server('a2', {}),
    server('b', { storageversions: [storageVersion] }),
    last,
  ]);
  assert.deepEqual([...view.storageVersions], [['b', { 'batch.jobs': ['v1'] }]]);
  assert.ok(!last.asked.some((path) => path.includes('storageversions')));
  assert.ok(view.isWhole);
});

test('where no server has StorageVersions nothing is missing; where none can be asked somebody is told', async () => {
  assert.deepEqual((await look([server('a', {}), server('b', {})])).warnings, []);
  const { warnings, storageVersions } = await look([away('a'), away('b')]);
  assert.equal(storageVersions.size, 0);
  assert.equal(warnings.length, 3);
  for (const warning of warnings)
    assert.match(warning, /^\/apis\/.* could not be listed.*a: .*away; b: .*away/);
});

test('a list that is none is left out with its reason', async () => {
  const { warnings, storageVersions } = await look([server('a', { storageversions: [{ metadata: {} }] })]);
  assert.equal(storageVersions.size, 0);
  assert.match(warnings.join(), /storageversions could not be listed/);
});

test('a server that holds an identity Lease and is not listed is told of; one whose Lease has lapsed is not', async () => {
  const leases = [lease('a', 1_000), lease('new', 1_000), lease('gone', 2 * 3_600_000)];
  const { warnings, servers } = await look([server('a', { leases })]);
  assert.deepEqual(
    servers.map(({ id }) => id),
    ['a'],
  );
  const named = warnings.map((warning) => /API server (\S+) on (\S+)/.exec(warning)?.slice(1).join());
  assert.deepEqual(named, ['new,host-of-new']);
});
