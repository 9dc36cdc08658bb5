import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { fullSnapshot, issuesOf, withChange } from '../../../test/support/full-snapshot.ts';
import { snapshotLimits } from './limits.ts';
import { parseSnapshot, parseSnapshotText } from './parse-snapshot.ts';

const [, keyB = '', keyC = ''] = fullSnapshot.servers.map((server) => server.serves);
const group = ['servedSets', keyC, 'discovery', 0] as const;

test('names of prototype parts are refused wherever they stand, and change nothing', async () => {
  for (const key of ['__proto__', 'constructor', 'prototype']) {
    for (const path of [
      [],
      ['metadata'],
      ['servers', 0],
      ['servedSets'],
      ['servedSets', keyB, 'storageVersions'],
      group,
    ]) {
      const document = withChange(['metadata', 'cluster'], 'x');
      let place = document as Record<string, unknown>;
      for (const step of path) place = place[step] as Record<string, unknown>;
      // An own member, as JSON.parse makes it.
      Object.defineProperty(place, key, { value: { polluted: true }, enumerable: true });
      const found = await issuesOf(document);
      assert.equal(found.length, 1, found.join());
      assert.match(found[0] ?? '', new RegExp(`${key}: must not be used as a name$`));
    }
  }
  assert.equal(Object.hasOwn(Object.prototype, 'polluted'), false);
});

test('a __proto__ member in JSON text is refused', async () => {
  const text = JSON.stringify(fullSnapshot).replace(
    '"metadata":{',
    '"metadata":{"__proto__":{"isAdmin":true},',
  );
  const result = await parseSnapshotText(text);
  assert.deepEqual(result, {
    ok: false,
    issues: [{ path: 'metadata.__proto__', message: 'must not be used as a name' }],
  });
});

test('of very many errors the first hundred are listed and the others counted', async () => {
  const servers = Array.from({ length: 1_000 }, () => ({ id: 7, serves: 7 }));
  const result = await parseSnapshot({ ...fullSnapshot, servers });
  assert.ok(!result.ok);
  assert.equal(result.issues.length, 100 + 1);
  // Two errors in each server, less the listed ones.
  assert.deepEqual(result.issues.at(-1), {
    path: '',
    message: `${2_000 - 100} more errors are not listed`,
  });
});

test('a list that is longer than any cluster needs is refused without looking at its items', async () => {
  const servers = Array.from({ length: snapshotLimits.servers + 1 }, () => null);
  assert.deepEqual(await issuesOf({ ...fullSnapshot, servers }), [
    'servers: must have at most 1000 items, not 1001',
  ]);
});

test('10 MB of JSON are refused by size', async () => {
  const result = await parseSnapshotText(`{"x":"${'x'.repeat(10_000_000)}"}`);
  assert.deepEqual(result, { ok: false, issues: [{ path: '', message: 'is larger than 8388608 bytes' }] });
});

test('size is counted in bytes, not in characters', async () => {
  const result = await parseSnapshotText(`"${'€'.repeat(snapshotLimits.bytes / 2)}"`);
  assert.ok(!result.ok);
  assert.match(result.issues[0]?.message ?? '', /is larger than/);
});

test('10,000 levels are refused before anything recurses into them', async () => {
  for (const text of [
    '['.repeat(10_000),
    `${'['.repeat(10_000)}${']'.repeat(10_000)}`,
    '{"a":'.repeat(10_000),
  ]) {
    const result = await parseSnapshotText(text);
    assert.deepEqual(result, {
      ok: false,
      issues: [{ path: '', message: 'is nested deeper than 32 levels' }],
    });
  }
});

test('brackets in strings are not levels', async () => {
  const result = await parseSnapshotText(JSON.stringify({ note: `${'['.repeat(100)}"\\${'{'.repeat(100)}` }));
  assert.ok(!result.ok);
  assert.ok(result.issues.some(({ path }) => path === 'note'));
});

test('millions of values are refused by number', async () => {
  const result = await parseSnapshotText(`[${'0,'.repeat(snapshotLimits.values)}0]`);
  assert.ok(!result.ok);
  const wrapped = await parseSnapshotText(`{"servers":[${'0,'.repeat(snapshotLimits.values)}0]}`);
  assert.deepEqual(wrapped, { ok: false, issues: [{ path: '', message: 'has more than 2000000 values' }] });
});

test('a value that contains itself is refused', async () => {
  const loop: Record<string, unknown> = { ...fullSnapshot };
  loop['metadata'] = loop;
  assert.deepEqual(await issuesOf(loop), [': is nested deeper than 32 levels']);
});

test('text that is no JSON is refused in words', async () => {
  for (const text of [
    '',
    '{',
    '{"apiVersion": tru}',
    'apiVersion: mixed-version-proxy/v1alpha1',
    '\ufeff{}',
    '{"a":1,}',
  ]) {
    const result = await parseSnapshotText(text);
    assert.ok(!result.ok);
    assert.match(result.issues[0]?.message ?? '', /^is not JSON: ./);
  }
});

test('parsing never throws, whatever it is given', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.anything({ withBigInt: true, withDate: true, withNullPrototype: true }),
      async (value) => {
        assert.equal((await parseSnapshot(value)).ok, false);
      },
    ),
  );
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'binary' }), async (text) => {
      assert.equal((await parseSnapshotText(text)).ok, false);
    }),
  );
});

test('a good snapshot with any one value replaced is accepted unchanged or refused, never altered', async () => {
  const paths = pathsOf(fullSnapshot);
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...paths), fc.jsonValue({ maxDepth: 2 }), async (path, value) => {
      const changed = withChange(path, value);
      const result = await parseSnapshot(changed);
      if (result.ok) assert.deepEqual(result.snapshot, changed);
      else assert.ok(result.issues.length > 0);
    }),
    { numRuns: 500 },
  );
});

function pathsOf(value: unknown, path: readonly (string | number)[] = []): (readonly (string | number)[])[] {
  if (typeof value !== 'object' || value === null) return [path];
  const members: [string | number, unknown][] = Array.isArray(value)
    ? [...value.entries()]
    : Object.entries(value);
  const inner = members.flatMap(([key, member]) => pathsOf(member, [...path, key]));
  return path.length === 0 ? inner : [path, ...inner];
}
