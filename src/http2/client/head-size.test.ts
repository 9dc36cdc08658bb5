import assert from 'node:assert/strict';
import { test } from 'node:test';
import { headSize } from './head-size.ts';

/** RFC 9113 section 6.5.2, line by line. */
function counted(lines: readonly (readonly [string, string])[]): number {
  return lines.reduce((sum, [name, value]) => sum + name.length + value.length + 32, 0);
}

test('a head counts as on the wire, pseudo-header fields and target with it', () => {
  const lines = [
    ['x-remote-group', 'dev'],
    ['x-remote-group', 'ops'],
  ] as const;
  const expected = counted([
    [':method', 'GET'],
    [':path', '/api'],
    [':scheme', 'https'],
    [':authority', '127.0.0.1:6443'],
    ...lines,
  ]);
  assert.equal(headSize('GET', '/api', '127.0.0.1:6443', lines.flat()), expected);
});
