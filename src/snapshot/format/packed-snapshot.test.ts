import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { servedSetKeyOf, snapshotOf } from '../../../test/support/snapshots/snapshot-builder.ts';
import { canonicalJson } from '../../runtime/canonical-json.ts';
import { servedSetOf } from './handmade-snapshot.ts';
import { snapshotLimits } from './limits.ts';
import { headText, isSameContent, setsText, snapshotText } from './packed-snapshot.ts';
import { parseSnapshot, parseSnapshotText } from './parse-snapshot.ts';
import type { APIGroupDiscovery, Snapshot } from './schema.ts';
import { servedSetKey } from './served-set-key.ts';

function group(name: string, ...resources: string[]): APIGroupDiscovery {
  const described = resources.map((resource) => ({ resource, verbs: ['get', 'list'] }));
  return { metadata: { name }, versions: [{ version: 'v1', resources: described }] };
}

/** As two API servers of neighbouring versions describe themselves: each in words of its own. */
function mixed(): Snapshot {
  return snapshotOf({
    a: { serves: ['batch/v1/jobs'], discovery: [group('apps', 'deployments'), group('batch', 'jobs')] },
    b: { serves: ['v1/pods'], discovery: [group('apps', 'deployments'), group('batch', 'jobs', 'cronjobs')] },
    c: { serves: ['apps/v1/deployments'], discovery: [group('apps', 'deployments')] },
  });
}

/** The text of a snapshot, and its sets as they stand in it. */
async function packedText(snapshot: Snapshot) {
  const text = await snapshotText(snapshot);
  return { text, sets: Object.values((JSON.parse(text) as { readonly servedSets: object }).servedSets) };
}

test('a set is sent as what differs from the one before it, and comes back whole', async () => {
  const snapshot = mixed();
  const [first = '', second = '', third = ''] = Object.keys(snapshot.servedSets);
  const { text, sets } = await packedText(snapshot);
  assert.deepEqual(sets, [
    snapshot.servedSets[first],
    {
      base: first,
      discovery: [0, group('batch', 'jobs', 'cronjobs')],
      storageVersions: { 'batch.jobs': null, 'core.pods': ['v1'] },
    },
    {
      base: second,
      discovery: [0],
      storageVersions: { 'core.pods': null, 'apps.deployments': ['v1'] },
    },
  ]);
  assert.ok(third !== '');
  const parsed = await parseSnapshotText(text);
  assert.deepEqual(parsed, { ok: true, snapshot });
  assert.ok(parsed.ok);
  const [one, other] = Object.values(parsed.snapshot.servedSets).map(({ discovery }) => discovery?.[0]);
  assert.equal(one, other);
});

test('a map that only one of two sets has is told, and so is one that is empty', async () => {
  const hashes = { 'core.pods': '8aSe+NMegvE=' };
  const snapshot = snapshotOf({
    a: { serves: ['v1/pods'], storageVersionHashes: hashes, discovery: [], schemas: {} },
    b: { serves: ['v1/pods'], storageVersionHashes: {} },
    c: { serves: ['v1/pods'], schemas: { 'core.pods': { v1: '8aSe+NMegvE=' } } },
  });
  const { text, sets } = await packedText(snapshot);
  const [first, second] = Object.keys(snapshot.servedSets);
  assert.deepEqual(sets.slice(1), [
    { base: first, discovery: null, storageVersionHashes: { 'core.pods': null }, schemas: null },
    { base: second, storageVersionHashes: null, schemas: { 'core.pods': { v1: '8aSe+NMegvE=' } } },
  ]);
  assert.deepEqual(await parseSnapshotText(text), { ok: true, snapshot });
});

test('packed and read again, every snapshot is what it was, and packed the same way again', async () => {
  const groups = fc.array(fc.tuple(fc.constantFrom('apps', 'batch', ''), fc.constantFrom('jobs', 'pods')), {
    maxLength: 5,
  });
  await fc.assert(
    fc.asyncProperty(fc.dictionary(fc.constantFrom('a', 'b', 'c'), groups, { minKeys: 1 }), async (given) => {
      const servers = Object.entries(given).map(
        ([id, names]) =>
          [
            id,
            { serves: [`${id}/v1/x`], discovery: names.map(([name, resource]) => group(name, resource)) },
          ] as const,
      );
      const snapshot = snapshotOf(Object.fromEntries(servers));
      const text = await snapshotText(snapshot);
      const parsed = await parseSnapshotText(text);
      assert.deepEqual(parsed, { ok: true, snapshot });
      assert.ok(parsed.ok);
      assert.equal(await snapshotText(parsed.snapshot), text);
    }),
  );
});

test('the key of a set is the hash of its canonical JSON', async () => {
  const sets = [
    { ...servedSetOf(['v1/pods', 'v1/pods/log']), discovery: [group('apps', 'deployments')], openapiV3: {} },
    { ...servedSetOf(['v1/pods']), discovery: [] },
    servedSetOf(['v1/pods']),
  ];
  for (const set of sets) {
    const hex = createHash('sha256').update(canonicalJson(set)).digest('hex');
    assert.equal(await servedSetKey(set), `sha256:${hex}`);
  }
});

test('snapshots say the same whatever their generation and time, and in whatever order their members stand', () => {
  const { servers, servedSets, metadata, ...rest } = mixed();
  const later = { ...metadata, generation: 99, createdAt: '2030-01-01T00:00:00Z' };
  assert.ok(isSameContent(mixed(), { servedSets, servers, metadata: later, ...rest }));
  assert.ok(!isSameContent(mixed(), { ...rest, servedSets, metadata, servers: servers.slice(1) }));
  assert.ok(!isSameContent(mixed(), { ...rest, servedSets: {}, metadata, servers }));
});

test('a set does not hold the sets that it came after before', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const setOf = (change: number) => servedSetOf([`group-${change}.example.com/v1/things`]);
  let newest = setOf(0);
  const oldest = new WeakRef(newest);
  // Servers show a change one after the other: each set comes second, and is the first one then.
  for (let change = 1; change < 4; change++) {
    const next = setOf(change);
    await setsText({ before: newest, next });
    await setsText({ next });
    newest = next;
  }
  await new Promise(setImmediate);
  collect();
  assert.equal(oldest.deref(), undefined);
  assert.ok(newest);
});

test('a set that came back before is not looked at again, but under another key', async () => {
  const parsed = await parseSnapshot(mixed());
  assert.ok(parsed.ok);
  const { snapshot } = parsed;
  const [key = '', otherKey = ''] = Object.keys(snapshot.servedSets);
  const again = await parseSnapshot({ ...snapshot, metadata: { ...snapshot.metadata, generation: 2 } });
  assert.ok(again.ok);
  for (const each of Object.keys(snapshot.servedSets)) {
    assert.equal(again.snapshot.servedSets[each], snapshot.servedSets[each]);
  }
  const swapped = { ...snapshot.servedSets, [key]: snapshot.servedSets[otherKey] };
  const refused = await parseSnapshot({ ...snapshot, servedSets: swapped });
  assert.match(refused.ok ? '' : (refused.issues[0]?.message ?? ''), /must be named by the hash/);
});

test('sets that a reader has are not sent to it again', async () => {
  const before = await parseSnapshot(mixed());
  assert.ok(before.ok);
  const { servers, servedSets } = before.snapshot;
  const set = { ...servedSetOf(['v1/nodes']), discovery: [group('apps', 'deployments'), group('new')] };
  const key = servedSetKeyOf(set);
  const next = {
    ...before.snapshot,
    servers: [...servers.slice(1), { id: 'd', serves: key }],
    servedSets: { ...servedSets, [key]: set },
  };
  const change = await setsText(next.servedSets, servedSets);
  assert.deepEqual(Object.keys(JSON.parse(change) as object), [key]);
  assert.equal((await parseSnapshotText(await headText(next), change)).ok, false);

  const parsed = await parseSnapshotText(await headText(next), change, before.snapshot);
  assert.ok(parsed.ok);
  const used = new Set(next.servers.map(({ serves }) => serves));
  const kept = Object.entries(next.servedSets).filter(([each]) => used.has(each));
  assert.deepEqual(parsed.snapshot, { ...next, servedSets: Object.fromEntries(kept) });
  const shared = Object.values(servedSets).at(-1)?.discovery?.[0];
  assert.equal(parsed.snapshot.servedSets[key]?.discovery?.[0], shared);
});

const hostile: readonly (readonly [what: string, changes: object, issue: RegExp])[] = [
  ['a place that is not there', { discovery: [1] }, /discovery\[0\]: must be a group, or the place/],
  ['a place below the first', { discovery: [-1] }, /discovery\[0\]: must be a group, or the place/],
  ['half a place', { discovery: [0.5] }, /discovery\[0\]: must be a group, or the place/],
  ['a name for a place', { discovery: ['0'] }, /discovery\[0\]: must be an object/],
  ['a base that is not there', { base: 'sha256:0' }, /base: must be the key of a set before it/],
  [
    'a change that takes away what a set must have',
    { storageVersions: null },
    /storageVersions: is required/,
  ],
  ['another name than that of its content', {}, /must be named by the hash of its content/],
  [
    'a small text that stands for a huge one',
    { discovery: new Array(1000).fill(0) },
    /^servedSets: must not stand for more than/,
  ],
];
for (const [what, changes, issue] of hostile) {
  test(`${what} is refused`, async () => {
    const huge = group('apps', ...Array.from({ length: 1000 }, (_, index) => `resource${index}`));
    const repeated = Math.ceil(snapshotLimits.unpacked / canonicalJson(huge).length);
    assert.ok(repeated < 1000, 'a thousand of them are over the limit');
    const snapshot = snapshotOf({ a: { serves: ['v1/pods'], discovery: [huge] }, b: ['v1/pods'] });
    const [base = '', key = ''] = Object.keys(snapshot.servedSets);
    const servedSets = { ...snapshot.servedSets, [key]: { base, storageVersions: {}, ...changes } };
    const parsed = await parseSnapshot({ ...snapshot, servedSets });
    assert.ok(!parsed.ok);
    const [first] = parsed.issues;
    assert.match(`${first?.path}: ${first?.message}`, issue);
  });
}

test('the key is the SHA-256 of the canonical JSON', async () => {
  const hex = createHash('sha256').update('{"storageVersions":{"core.pods":["v1"]}}').digest('hex');
  assert.equal(await servedSetKey({ storageVersions: { 'core.pods': ['v1'] } }), `sha256:${hex}`);
});

test('the order of members does not change the key, the order of versions does', async () => {
  const key = await servedSetKey({ storageVersions: { 'batch.jobs': ['v1'], 'core.pods': ['v1', 'v2'] } });
  assert.equal(
    await servedSetKey({ storageVersions: { 'core.pods': ['v1', 'v2'], 'batch.jobs': ['v1'] } }),
    key,
  );
  assert.notEqual(
    await servedSetKey({ storageVersions: { 'core.pods': ['v2', 'v1'], 'batch.jobs': ['v1'] } }),
    key,
  );
});

test('a member that is undefined is a member that is not there', async () => {
  const storageVersions = { 'core.pods': ['v1'] };
  assert.equal(
    await servedSetKey({ storageVersions, subresources: undefined }),
    await servedSetKey({ storageVersions }),
  );
});

test('canonical JSON means the same as the value, and is the same for any order of members', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      // JSON has no negative zero; JSON.stringify writes it as 0.
      const plain: unknown = JSON.parse(JSON.stringify(value));
      assert.deepEqual(JSON.parse(canonicalJson(plain)), plain);
      assert.equal(canonicalJson(reversed(plain)), canonicalJson(plain));
    }),
  );
});

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, reversed(member)]),
  );
}
