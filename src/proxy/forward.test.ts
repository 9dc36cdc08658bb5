import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inboundFromRequest } from '../request/inbound.ts';
import { withVersionWarning } from './forward.ts';

const asked = () => inboundFromRequest(new Request('https://router.example/api/v1/pods'));

test('a response of the preferred version has no warning', () => {
  assert.deepEqual(withVersionWarning(['content-type', 'text/plain'], asked()), [
    'content-type',
    'text/plain',
  ]);
});

test('one of an older version says which, and that fields may be missing', () => {
  const inbound = { ...asked(), otherVersion: { minor: '1.31', isOlder: true } };
  const [name, value = ''] = withVersionWarning([], inbound);
  assert.equal(name, 'warning');
  // k8s.io/apimachinery pkg/util/net ParseWarningHeaders: code, agent, quoted text.
  assert.match(value, /^299 - "[^"\\]*version 1\.31 responded[^"\\]*missing[^"\\]*"$/);
});

test('one of a newer or unknown version does not speak of missing fields', () => {
  const inbound = { ...asked(), otherVersion: { minor: undefined, isOlder: false } };
  const [, value = ''] = withVersionWarning([], inbound);
  assert.match(value, /unknown version/);
  assert.doesNotMatch(value, /missing/);
});
