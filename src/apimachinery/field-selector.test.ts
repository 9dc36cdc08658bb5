import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { parseFieldSelector } from './list-options.ts';

/** The selector's terms, each written plainly; `undefined` for a malformed selector. */
const read = (selector: string) =>
  parseFieldSelector(selector)?.map(({ field, operator, value }) => `${field}|${operator}|${value}`);

describe('a field selector', () => {
  const cases: readonly (readonly [string, string, string[]])[] = [
    ['may be empty', '', []],
    ['knows =', 'a=b', ['a|=|b']],
    ['reads == as =', 'a==b', ['a|=|b']],
    ['knows !=', 'a!=b', ['a|!=|b']],
    ['may ask for the empty value', 'a=', ['a|=|']],
    ['may name no field', '=b', ['|=|b']],
    ['drops a term of an operator alone', '=,a=b,!=,==', ['a|=|b']],
    ['skips empty terms', ',a=b,,', ['a|=|b']],
    ['counts white space', ' a = b', [' a |=| b']],
    ['unescapes comma, equals sign and backslash in a value', 'a=\\,\\=\\\\', ['a|=|,=\\']],
    ['splits behind an escaped comma', 'b=\\,,a=1', ['a|=|1', 'b|=|,']],
    ['does not unescape a field', '\\a=b', ['\\a|=|b']],
    ['takes an exclamation mark alone as a character', 'a!b=!c', ['a!b|=|!c']],
    ['orders its terms', 'c=1,a=1,b=1', ['a|=|1', 'b|=|1', 'c|=|1']],
    ['orders a term with == among those with = by its bytes', 'a==z,a=1,a=b', ['a|=|1', 'a|=|z', 'a|=|b']],
    ['orders by UTF-8, not by UTF-16', 'a=😀,a=\uffee,a=\ue000', ['a|=|\ue000', 'a|=|\uffee', 'a|=|😀']],
    ['orders a term before the longer one that begins with it', 'a=bc,a=b', ['a|=|b', 'a|=|bc']],
  ];
  for (const [behaviour, selector, expected] of cases) {
    test(behaviour, () => {
      assert.deepEqual(read(selector), expected);
    });
  }

  test('is malformed without an operator, with an unknown escape or with a plain special character', () => {
    for (const selector of ['a', '!', 'a=b,c', 'a=\\b', 'a=b\\', 'a=b=c', 'a===b', 'a!==b', 'a\\,b']) {
      assert.equal(parseFieldSelector(selector), undefined, selector);
    }
  });
});

test('any value survives being escaped and parsed', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (value) => {
      const escaped = value.replace(/[\\,=]/g, (character) => `\\${character}`);
      assert.deepEqual(parseFieldSelector(`f=${escaped},g!=x`)?.[0], { field: 'f', operator: '=', value });
    }),
  );
});
