import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { snapshotOf } from '../../../test/support/snapshots/snapshot-builder.ts';
import { parseSnapshot } from './parse-snapshot.ts';
import type { APIGroupDiscovery, Snapshot } from './schema.ts';
import { readStoredSets } from './stored-sets.ts';
import { storedSets } from './write-stored-sets.ts';

function group(name: string, ...resources: string[]): APIGroupDiscovery {
  const described = resources.map((resource) => ({ resource, verbs: ['get', 'list'] }));
  return { metadata: { name }, versions: [{ version: 'v1', resources: described }] };
}

/** Three sets; what the first two have in common is most of them. */
function mixed(): Snapshot {
  const apps = group('apps', 'deployments', 'replicasets');
  return snapshotOf({
    a: { serves: ['batch/v1/jobs'], discovery: [apps, group('batch', 'jobs')] },
    b: { serves: ['batch/v1/jobs'], discovery: [apps, group('batch', 'cronjobs')] },
    c: { serves: ['v1/pods'] },
  });
}

test('the program that has checked sets reads them as they were, and what two share is stored once', async () => {
  const { servedSets } = mixed();
  const text = await storedSets(servedSets, 'one');
  assert.equal(text.split('"replicasets"').length, 2);
  const read = await readStoredSets(text, 'one');
  assert.deepEqual(read, { checked: servedSets });
  assert.equal(await storedSets(read?.checked ?? {}, 'one'), text);
});

test('groups are parsed when they are asked for, and not by who looks at anything else', async () => {
  const { servedSets, ...head } = mixed();
  const read = await readStoredSets(await storedSets(servedSets, 'one'), 'one');
  const [set] = Object.values(read?.checked ?? {});
  assert.ok(set);
  const result = await parseSnapshot(head, { servedSets: read?.checked ?? {} });
  assert.ok(result.ok);
  assert.ok(set.storageVersions);
  assert.equal(typeof Object.getOwnPropertyDescriptor(set, 'discovery')?.get, 'function');
  const { discovery } = set;
  assert.deepEqual(discovery, Object.values(servedSets)[0]?.discovery);
  assert.equal(set.discovery, discovery);
});

test('a set that is not what its key says is refused, whichever character was changed', async () => {
  const text = await storedSets(mixed().servedSets, 'one');
  const from = text.indexOf('\n') + 1;
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: from, max: text.length - 1 }), async (at) => {
      const other = text[at] === 'x' ? 'y' : 'x';
      const changed = text.slice(0, at) + other + text.slice(at + 1);
      await assert.rejects(readStoredSets(changed, 'one'), { code: 'Invalid' });
    }),
    { numRuns: 50 },
  );
});

test('what another program has checked comes back as JSON, to be checked', async () => {
  const snapshot = mixed();
  const read = await readStoredSets(await storedSets(snapshot.servedSets, 'one'), 'another');
  assert.equal(read?.checked, undefined);
  assert.deepEqual(JSON.parse(read?.text ?? ''), snapshot.servedSets);
  assert.equal(await readStoredSets(read?.text ?? '', 'one'), undefined);
});
