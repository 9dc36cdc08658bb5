import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { canonicalJson } from '../../runtime/canonical-json.ts';
import { servedSetKey } from './packed-snapshot.ts';

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
