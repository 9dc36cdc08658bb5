import assert from 'node:assert/strict';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import type { Recording } from '../../demo/example-api-server/kubernetes-versions.ts';
import { recordingFrom } from '../../demo/example-api-server/record.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const repository = join(import.meta.dirname, '../..');
/** Recordings of two servers of 1.26, with aggregated discovery. */
const folder = join(repository, 'test/fixtures/kubernetes-1.26-batch-disabled');

/** Resources by group version, each without its singular, which 1.26 left empty. */
const resourcesOf = ({ groups }: Recording) =>
  new Map(
    groups.flatMap(({ name = '', versions }) =>
      versions.map(({ version, resources }) => {
        const compared = resources.map((resource) => ({ ...resource, singularResource: undefined }));
        return [`${name}/${version}`, JSON.stringify(compared)] as const;
      }),
    ),
  );

test('a recording of a real server becomes what the example servers of its version serve', async () => {
  const made = recordingFrom(join(folder, 'b'));
  const file = await readFile(join(repository, 'demo/example-api-server/recorded/kubernetes-1.26.json.gz'));
  const kept: Recording = JSON.parse(gunzipSync(file).toString());
  assert.equal(made.gitVersion, kept.gitVersion);
  const resources = resourcesOf(kept);
  assert.ok(resourcesOf(made).size > 20);
  for (const [groupVersion, text] of resourcesOf(made)) assert.equal(text, resources.get(groupVersion));
  for (const [groupVersion, priority] of Object.entries(made.priorities)) {
    // Not served by that version's recording without its alpha versions.
    if (kept.priorities[groupVersion] === undefined) continue;
    assert.deepEqual(priority, kept.priorities[groupVersion], groupVersion);
  }
});

test('custom resources and what extension API servers serve are no part of a version', async (context) => {
  const copy = await temporaryDirectory(context);
  await cp(folder, copy, { recursive: true });
  const change = async (path: string, item: object): Promise<void> => {
    const list = JSON.parse(await readFile(join(copy, path), 'utf8')) as { items: object[] };
    await writeFile(join(copy, path), JSON.stringify({ ...list, items: [...list.items, item] }));
  };
  const groupOf = (name: string) => ({ metadata: { name }, versions: [{ version: 'v1', resources: [] }] });
  await change('b/aggregated_apis.json', groupOf('example.com'));
  await change('b/aggregated_apis.json', groupOf('metrics.k8s.io'));
  await change('apis__apiextensions.k8s.io__v1__customresourcedefinitions.json', {
    spec: { group: 'example.com' },
  });
  await change('apis__apiregistration.k8s.io__v1__apiservices.json', {
    spec: {
      group: 'metrics.k8s.io',
      version: 'v1',
      groupPriorityMinimum: 100,
      versionPriority: 100,
      service: { namespace: 'kube-system', name: 'metrics-server' },
    },
  });
  const { groups, priorities } = recordingFrom(join(copy, 'b'));
  const before = recordingFrom(join(folder, 'b'));
  assert.deepEqual(groups, before.groups);
  assert.ok(groups.length > 10);
  assert.deepEqual(priorities, before.priorities);
});
