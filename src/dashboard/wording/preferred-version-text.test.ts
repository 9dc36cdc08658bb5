import assert from 'node:assert/strict';
import { test } from 'node:test';
import { preferredVersionText } from './preferred-version-text.ts';

const servers = (...versions: readonly (string | null)[]) => versions.map((version) => ({ version }));

test('a version that the majority runs is called that, and of a tie the newest is', () => {
  const of = (minor: string, ...versions: readonly (string | null)[]) =>
    preferredVersionText('majority', minor, servers(...versions));
  assert.equal(of('1.35', 'v1.35.1', 'v1.35.2', 'v1.36.0', null, null), '1.35 (most servers)');
  assert.equal(of('1.35', 'v1.35.1', 'v1.36.0', 'v1.36.0'), '1.35 (most servers until now)');
  assert.equal(of('1.36', 'v1.35.1', 'v1.36.0'), '1.36 (no majority, so the newest)');
  assert.equal(
    of('1.35', 'v1.34.0', 'v1.34.0', 'v1.35.0', 'v1.35.0', 'v1.36.0'),
    '1.35 (no majority, so the newest of those with most servers)',
  );
});

test('another setting is named, and a version that was set itself is not', () => {
  const tied = servers('v1.35.0', 'v1.36.0');
  assert.equal(preferredVersionText('newest', '1.36', tied), '1.36 (newest)');
  assert.equal(preferredVersionText('1.36', '1.36', tied), '1.36');
});
