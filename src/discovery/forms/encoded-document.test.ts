import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matchesIfNoneMatch } from './encoded-document.ts';

test('If-None-Match matches in a list, weak or strong, and by star', () => {
  for (const header of ['"a"', 'W/"a"', '"x", "a"', '"x",W/"a" ,"y"', '*', ' * ', '"x,y","a"']) {
    assert.equal(matchesIfNoneMatch(header, '"a"'), true, header);
  }
  for (const header of [undefined, '', 'a', '"A"', '"x"', '"x*"', '"a', '"xa"']) {
    assert.equal(matchesIfNoneMatch(header, '"a"'), false, String(header));
  }
  // Too large to be read: as absent.
  assert.equal(matchesIfNoneMatch(`"a",${'"",'.repeat(4 * 1024)}`, '"a"'), false);
});
