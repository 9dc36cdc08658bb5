import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { cp, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { ServedSet } from '../../snapshot/format/schema.ts';
import { buildRoutingTable } from '../../snapshot/routing-table/build-routing-table.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import { generateSigningKey } from '../../snapshot/signing/seal.ts';
import { snapshotFromFolder } from './recording.ts';

const fixtures = fileURLToPath(new URL('../../../test/fixtures/', import.meta.url));
const clusters = ['kubernetes-1.25-1.26', 'kubernetes-1.26-batch-disabled'];

interface ResourceList {
  readonly groupVersion: string;
  readonly resources: readonly { readonly name: string }[];
}

/** `<group>/<version>/<resource>[/<subresource>]` of each recorded document with status 200, from the files alone. */
async function recordedPaths(folder: string): Promise<Set<string>> {
  const files = (await readdir(folder)).filter((file) => /^(api__v1|apis__[^_]+__v[^_.]+)\.json$/.test(file));
  const paths = new Set<string>();
  for (const file of files) {
    const list: ResourceList = JSON.parse(await readFile(join(folder, file), 'utf8'));
    const groupVersion = list.groupVersion === 'v1' ? '/v1' : list.groupVersion;
    for (const { name } of list.resources) paths.add(`${groupVersion}/${name}`);
  }
  return paths;
}

function isServed(table: RoutingTable, server: string, path: string): boolean {
  const [group = '', version = '', resource = '', subresource] = path.split('/');
  const route = table.resource(group, version, resource);
  const servedBy = subresource === undefined ? route : route?.subresource(subresource);
  return servedBy?.serverIds.has(server) === true;
}

/** Resources and subresources, each version of each. */
function sizeOf(set: ServedSet | undefined): number {
  const resources = Object.values(set?.storageVersions ?? {}).flat();
  const subresources = Object.values(set?.subresources ?? {}).flatMap((versions) =>
    Object.values(versions).flat(),
  );
  return resources.length + subresources.length;
}

for (const cluster of clusters) {
  test(`${cluster}: each server serves exactly its recorded documents`, async () => {
    const { snapshot, ok } = await snapshotFromFolder(join(fixtures, cluster));
    assert.ok(ok && snapshot !== undefined);
    const table = buildRoutingTable(snapshot);
    const recorded = new Map<string, Set<string>>();
    for (const server of ['a', 'b'])
      recorded.set(server, await recordedPaths(join(fixtures, cluster, server)));
    const all = new Set([...recorded.values()].flatMap((paths) => [...paths]));
    assert.ok(all.size > 100);
    for (const [server, paths] of recorded) {
      for (const path of all) {
        // `deployments/scale` listed without `deployments` would be a subresource alone; these lists have none.
        assert.equal(isServed(table, server, path), paths.has(path), `${server} ${path}`);
      }
    }
    // Nothing beyond the documents: as many resources and subresources as they list.
    for (const { id, serves } of snapshot.servers) {
      assert.equal(sizeOf(snapshot.servedSets[serves]), recorded.get(id)?.size);
    }
  });

  test(`${cluster}: the snapshot names versions, OpenAPI documents and the servers’ own APIServices`, async () => {
    const { snapshot, warnings } = await snapshotFromFolder(join(fixtures, cluster));
    assert.ok(snapshot);
    assert.equal(snapshot.servers.length, 2);
    for (const { id, serves, version, address } of snapshot.servers) {
      const index = JSON.parse(await readFile(join(fixtures, cluster, id, 'openapi__v3.json'), 'utf8'));
      const paths: string[] = Object.keys(snapshot.servedSets[serves]?.openapiV3 ?? {});
      assert.deepEqual(new Set(paths), new Set(Object.keys(index.paths)));
      const { gitVersion } = JSON.parse(await readFile(join(fixtures, cluster, id, 'version.json'), 'utf8'));
      assert.equal(version, gitVersion);
      assert.equal(address, `${id}.recorded.invalid:6443`);
    }
    const { items } = JSON.parse(
      await readFile(join(fixtures, cluster, 'apis__apiregistration.k8s.io__v1__apiservices.json'), 'utf8'),
    );
    assert.equal(snapshot.apiServices.length, items.length);
    assert.ok(snapshot.apiServices.every(({ service, available }) => service === undefined && available));
    assert.deepEqual(snapshot.customResourceGroups, []);
    // 1.25 and 1.26, or 1.26 with and without batch: two versions, and the documents were not recorded.
    const warning =
      /OpenAPI v3 documents of server [ab] cannot be read, so their resources count as different/;
    assert.equal(warnings.length, 2);
    for (const each of warnings) assert.match(each, warning);
    for (const set of Object.values(snapshot.servedSets ?? {})) assert.deepEqual(set.schemas, {});
  });

  test(`${cluster}: what is always compared counts as different where it was not recorded`, async () => {
    const { snapshot, warnings } = await snapshotFromFolder(join(fixtures, cluster), {
      alwaysReadsSchemas: true,
    });
    assert.deepEqual(
      warnings.map((warning) => /documents of server (\w) cannot/.exec(warning)?.[1]),
      ['a', 'b'],
    );
    assert.deepEqual(
      Object.values(snapshot?.servedSets ?? {}).map(({ schemas }) => schemas),
      [{}, {}],
    );
  });
}

/** As k8s.io/apiserver pkg/endpoints/discovery/storageversionhash.go makes it. */
const hashOf = (text: string) => createHash('sha256').update(text).digest().subarray(0, 8).toString('base64');

test('a set has the hash of every storage version that the classic documents of its server name', async () => {
  const folder = join(fixtures, 'kubernetes-1.26-batch-disabled');
  const { snapshot } = await snapshotFromFolder(folder);
  for (const { id, serves } of snapshot?.servers ?? []) {
    const hashes = snapshot?.servedSets[serves]?.storageVersionHashes;
    assert.equal(Object.keys(hashes ?? {}).length, id === 'a' ? 47 : 49);
    assert.equal(hashes?.['apps.deployments'], hashOf('apps/v1/Deployment'));
    assert.equal(hashes?.['core.pods'], hashOf('/v1/Pod'));
    // Served as v2 and v1, and stored as v1: the hash is about what is stored.
    assert.equal(
      hashes?.['autoscaling.horizontalpodautoscalers'],
      hashOf('autoscaling/v1/HorizontalPodAutoscaler'),
    );
    assert.equal(hashes?.['authentication.k8s.io.tokenreviews'], undefined);
  }
});

test('a server of the same version has the same set, read in classic or in aggregated form', async () => {
  const sets = await Promise.all(
    clusters.map(async (cluster) => {
      const { snapshot } = await snapshotFromFolder(join(fixtures, cluster));
      const { schemas: _schemas, ...set } =
        snapshot?.servedSets[snapshot.servers.find(({ id }) => id === 'b')?.serves ?? ''] ?? {};
      return set;
    }),
  );
  assert.ok(Object.keys(sets[0] ?? {}).length > 3);
  assert.deepEqual(sets[0], sets[1]);
});

test('takes addresses that are given, and refuses them for servers that were not recorded', async () => {
  const folder = join(fixtures, 'kubernetes-1.25-1.26');
  const now = Date.UTC(2026, 0, 31);
  const { snapshot } = await snapshotFromFolder(folder, {
    servers: [
      { id: 'a', address: '10.0.0.1:6443' },
      { id: 'b', url: 'https://b.example.com:6443' },
    ],
    cluster: 'recorded',
    now,
  });
  assert.deepEqual(
    snapshot?.servers.map(({ address, url }) => address ?? url),
    ['10.0.0.1:6443', 'https://b.example.com:6443'],
  );
  assert.equal(snapshot?.metadata.createdAt, '2026-01-31T00:00:00.000Z');
  assert.equal(snapshot?.metadata.generation, now / 1000);
  await assert.rejects(snapshotFromFolder(folder, { servers: [{ id: 'c' }] }), /no recording of server c/);
});

/** A copy of a recorded cluster, to break. */
async function brokenCopy(
  breakIt: (folder: string) => Promise<unknown>,
): Promise<Awaited<ReturnType<typeof snapshotFromFolder>>> {
  const folder = await mkdtemp(join(tmpdir(), 'recorded-'));
  try {
    await cp(join(fixtures, 'kubernetes-1.25-1.26'), folder, { recursive: true });
    await breakIt(folder);
    return await snapshotFromFolder(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

test('a document that is missing in the recording makes the server unknown, not smaller', async () => {
  const { snapshot, ok, readings } = await brokenCopy((folder) => rm(join(folder, 'b/apis__batch__v1.json')));
  assert.equal(ok, false);
  assert.deepEqual(
    snapshot?.servers.map(({ id }) => id),
    ['a'],
  );
  const reading = readings.get('b');
  assert.match(reading?.ok === false ? reading.reason : '', /apis__batch__v1\.json does not exist/);
});

test('a recorded failure makes the server unknown, not smaller', async () => {
  const { ok, readings } = await brokenCopy(async (folder) => {
    await rename(join(folder, 'b/apis__batch__v1.json'), join(folder, 'b/apis__batch__v1.503.json'));
  });
  assert.equal(ok, false);
  assert.match(JSON.stringify(readings.get('b')), /503 instead of 200/);
});

test('a recording made by hand has refusals under the name of the document, and lists under their own', async () => {
  const notAcceptable = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code: 406 };
  const byHand = await brokenCopy(async (folder) => {
    const shared = 'apis__apiregistration.k8s.io__v1__apiservices.json';
    await rename(join(folder, shared), join(folder, 'apiservices.json'));
    for (const server of ['a', 'b']) {
      const files = join(folder, server);
      for (const file of await readdir(files)) {
        if (file.endsWith('.404.json'))
          await rename(join(files, file), join(files, file.replace('.404', '')));
      }
      await rename(join(files, 'openapi__v3.json'), join(files, 'openapi_v3.json'));
      await writeFile(join(files, 'aggregated_apis.json'), JSON.stringify(notAcceptable));
    }
  });
  const { snapshot } = await snapshotFromFolder(join(fixtures, 'kubernetes-1.25-1.26'));
  assert.ok(snapshot !== undefined && byHand.snapshot !== undefined);
  const { metadata: _generation, ...recorded } = snapshot;
  const { metadata: _otherGeneration, ...madeByHand } = byHand.snapshot;
  assert.deepEqual(madeByHand, recorded);
});

test('writes the snapshot to a file, signed only with a key', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'recorded-'));
  const recorded = join(fixtures, 'kubernetes-1.25-1.26');
  const file = join(folder, 'snapshot.json');
  const plain = await snapshotFromFolder(recorded, { files: [{ file, unsigned: true }] });
  assert.equal(plain.ok, true);
  assert.deepEqual(JSON.parse(await readFile(file, 'utf8')), plain.snapshot);

  const withoutKey = await snapshotFromFolder(recorded, { files: [{ file }] });
  assert.match(JSON.stringify(withoutKey.deliveries), /there is no signing key/);
  const { privateJwk } = await generateSigningKey('EdDSA');
  const signed = await snapshotFromFolder(recorded, { files: [{ file }], signingKey: privateJwk });
  assert.equal(signed.ok, true);
  assert.match(await readFile(file, 'utf8'), /^[\w-]+\.[\w-]+\.[\w-]+\n\{.*\}\n$/);
  await rm(folder, { recursive: true });
});

test('a folder without servers is refused', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'recorded-'));
  await assert.rejects(snapshotFromFolder(folder), /no server to read/);
  await rm(folder, { recursive: true });
});
