import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRfc3339 } from './time.ts';

test('times as Kubernetes writes them are read', () => {
  assert.equal(parseRfc3339('2026-11-21T04:05:52Z'), Date.UTC(2026, 10, 21, 4, 5, 52));
  assert.equal(parseRfc3339('2026-11-21T04:05:52.123456Z'), Date.UTC(2026, 10, 21, 4, 5, 52, 123));
  assert.equal(parseRfc3339('2026-11-21T04:05:52+05:30'), Date.UTC(2026, 10, 20, 22, 35, 52));
  assert.equal(parseRfc3339('2028-02-29T00:00:00Z'), Date.UTC(2028, 1, 29));
});

for (const text of [
  '2026-02-30T00:00:00Z',
  '2026-02-29T00:00:00Z',
  '2026-13-01T00:00:00Z',
  '2026-11-21T24:00:00Z',
  '2026-11-21T04:05:60Z',
  '2026-11-21T04:05:52',
  '2026-11-21 04:05:52Z',
  '2026-11-21',
  '20261121T040552Z',
  '1795233952',
  'now',
  '',
]) {
  test(`no RFC 3339 time: ${JSON.stringify(text)}`, () => {
    assert.equal(parseRfc3339(text), undefined);
  });
}
