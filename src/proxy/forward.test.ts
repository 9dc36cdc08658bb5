import assert from 'node:assert/strict';
import { test } from 'node:test';
import { versionWarning } from './forward.ts';

test('the warning of an older version says which, and that fields may be missing', () => {
  // k8s.io/apimachinery pkg/util/net ParseWarningHeaders: code, agent, quoted text.
  assert.match(
    versionWarning({ minor: '1.31', isOlder: true }),
    /^299 - "[^"\\]*version 1\.31 responded[^"\\]*missing[^"\\]*"$/,
  );
});

test('that of a newer or unknown version does not speak of missing fields', () => {
  const value = versionWarning({ minor: undefined, isOlder: false });
  assert.match(value, /unknown version/);
  assert.doesNotMatch(value, /missing/);
});
