import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { servedSetKeyOf, servedSetOf, snapshotOf } from '../../../test/support/snapshot-builder.ts';
import type { APIGroupDiscovery } from '../../apimachinery/discovery-types.ts';
import { canonicalJson } from '../../runtime/canonical-json.ts';
import { snapshotLimits } from './limits.ts';
import { isSameContent, snapshotText } from './packed-snapshot.ts';
import { parseSnapshot, parseSnapshotText } from './parse-snapshot.ts';
import type { Snapshot } from './schema.ts';
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

test('what several sets hold stands once in the packed snapshot, and comes back in each of them', async () => {
  const snapshot = mixed();
  const text = await snapshotText(snapshot);
  const packed = JSON.parse(text) as { readonly discoveryGroups: unknown };
  assert.deepEqual(packed.discoveryGroups, [group('apps', 'deployments')]);
  assert.equal(text, canonicalJson(packed));
  assert.deepEqual(await parseSnapshotText(text), { ok: true, snapshot });
  const parsed = await parseSnapshot(packed);
  assert.ok(parsed.ok);
  const [one, other] = Object.values(parsed.snapshot.servedSets).map(({ discovery }) => discovery?.[0]);
  assert.equal(one, other);
});

test('a snapshot whose sets share nothing is packed as it is', async () => {
  const snapshot = snapshotOf({ a: { serves: ['v1/pods'], discovery: [group('apps'), group('apps')] } });
  assert.equal(await snapshotText(snapshot), canonicalJson(snapshot));
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

test('what came back before is not looked at again; a set under another key is', async () => {
  const parsed = await parseSnapshot(mixed());
  assert.ok(parsed.ok);
  const { snapshot } = parsed;
  const [key = '', otherKey = ''] = Object.keys(snapshot.servedSets);
  const again = await parseSnapshot({ ...snapshot, metadata: { ...snapshot.metadata, generation: 2 } });
  assert.ok(again.ok);
  for (const each of Object.keys(snapshot.servedSets)) {
    assert.equal(again.snapshot.servedSets[each], snapshot.servedSets[each]);
  }
  assert.equal(again.snapshot.apiServices, snapshot.apiServices);
  const swapped = { ...snapshot.servedSets, [key]: snapshot.servedSets[otherKey] };
  const refused = await parseSnapshot({ ...snapshot, servedSets: swapped });
  assert.match(refused.ok ? '' : (refused.issues[0]?.message ?? ''), /must be named by the hash/);
});

test('of a text only what the snapshot before does not have is parsed', async () => {
  const before = await parseSnapshotText(await snapshotText(mixed()));
  assert.ok(before.ok);
  const text = await snapshotText(mixed());
  const [key = ''] = Object.keys(before.snapshot.servedSets);
  // Nothing looks at the set of a known key: what stands there is not even JSON.
  const start = text.indexOf(`"${key}":{`) + key.length + 4;
  const broken = `${text.slice(0, start)}"broken"${text.slice(start)}`;
  assert.equal((await parseSnapshotText(broken)).ok, false);
  const parsed = await parseSnapshotText(broken, before.snapshot);
  assert.ok(parsed.ok);
  assert.equal(parsed.snapshot.servedSets[key], before.snapshot.servedSets[key]);

  const changed = { ...servedSetOf(['v1/nodes']), discovery: [group('apps', 'deployments'), group('new')] };
  const changedKey = servedSetKeyOf(changed);
  const [server] = before.snapshot.servers;
  const next = await parseSnapshotText(
    await snapshotText({
      ...before.snapshot,
      servers: [...before.snapshot.servers, { ...server, id: 'd', serves: changedKey }],
      servedSets: { ...before.snapshot.servedSets, [changedKey]: changed },
    }),
    before.snapshot,
  );
  assert.ok(next.ok);
  const [shared] = Object.values(before.snapshot.servedSets).map(({ discovery }) => discovery?.[0]);
  assert.equal(next.snapshot.servedSets[changedKey]?.discovery?.[0], shared);
});

const hostile: readonly (readonly [what: string, changes: object, issue: RegExp])[] = [
  ['a place that is not there', { discovery: [1] }, /discovery\[0\]: must be a group, or its place/],
  ['a place below the first', { discovery: [-1] }, /discovery\[0\]: must be a group, or its place/],
  ['half a place', { discovery: [0.5] }, /discovery\[0\]: must be a group, or its place/],
  ['a name for a place', { discovery: ['0'] }, /discovery\[0\]: must be an object/],
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
    const set = { ...servedSetOf(['v1/pods']), ...changes };
    const [server] = snapshotOf({ a: ['v1/pods'] }).servers;
    const key = servedSetKeyOf(servedSetOf(['v1/pods']));
    const packed = {
      ...snapshotOf({ a: ['v1/pods'] }),
      servers: [{ ...server, serves: key }],
      servedSets: { [key]: set },
      discoveryGroups: [huge],
    };
    const parsed = await parseSnapshot(packed);
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
