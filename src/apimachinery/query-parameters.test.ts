import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { firstQueryValues } from './list-options.ts';

const names = new Set(['watch', 'limit', 'a b']);
const read = (rawQuery: string) => Object.fromEntries(firstQueryValues(rawQuery, names));

describe('a query is read as Go reads it', () => {
  const cases: readonly (readonly [string, string, Record<string, string>])[] = [
    ['no parameter', '', {}],
    ['the first value of several', 'watch=1&watch=2', { watch: '1' }],
    ['an empty value', 'watch=', { watch: '' }],
    ['no equals sign', 'watch', { watch: '' }],
    ['everything behind the first equals sign', 'watch=a=b', { watch: 'a=b' }],
    ['empty pairs are nothing', '&&watch=1&', { watch: '1' }],
    ['an escaped name', 'w%61tch=1', { watch: '1' }],
    ['plus is a space in names and values', 'a+b=c+d', { 'a b': 'c d' }],
    ['an escaped plus is a plus', 'watch=%2B', { watch: '+' }],
    ['names are case-sensitive', 'Watch=1', {}],
    ['other names are left out', 'other=1&__proto__=2&limit=3', { limit: '3' }],
    ['a pair with a semicolon is dropped, the next one counts', 'watch=1;limit=2&watch=3', { watch: '3' }],
    ['an escaped semicolon is a character', 'watch=1%3B', { watch: '1;' }],
    ['a malformed escape drops its pair, the next one counts', 'watch=%&watch=%zz&watch=3', { watch: '3' }],
    ['a malformed name drops its pair', 'watch%=1&limit=2', { limit: '2' }],
    ['UTF-8', 'watch=%C3%A9%F0%9F%98%80', { watch: 'é😀' }],
    ['a byte order mark is kept', 'watch=%EF%BB%BFa', { watch: '\ufeffa' }],
    ['bytes that are no UTF-8 do not drop their pair', 'watch=a%FFb', { watch: 'a\ufffdb' }],
    ['an encoded NUL', 'watch=%00', { watch: '\u0000' }],
  ];
  for (const [behaviour, rawQuery, expected] of cases) {
    test(behaviour, () => {
      assert.deepEqual(read(rawQuery), expected);
    });
  }
});

test('more than ten thousand pairs yield no parameter, ten thousand are read', () => {
  const filler = '&x'.repeat(9_999);
  assert.deepEqual(read(`watch=1${filler}`), { watch: '1' });
  assert.deepEqual(read(`watch=1${filler}&x`), {});
});

test('what was encoded comes back, among other parameters', () => {
  const text = fc.string({ unit: 'grapheme' }).filter((value) => value.isWellFormed());
  fc.assert(
    fc.property(text, text, (watch, other) => {
      const encoded = encodeURIComponent(watch);
      const formEncoded = new URLSearchParams([['watch', watch]]).toString();
      assert.deepEqual(read(`x=${encodeURIComponent(other)}&watch=${encoded}`), { watch });
      assert.deepEqual(read(`${formEncoded}&x`), { watch });
    }),
  );
});

test('where no semicolon, malformed escape or byte order mark stands, URLSearchParams reads the same', () => {
  const piece = fc.constantFrom(
    'watch',
    'limit',
    'a+b',
    'a%20b',
    '=',
    '&',
    '+',
    '%2B',
    '%26',
    '%3D',
    'x',
    '%FF',
    'w%61tch',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const rawQuery = pieces.join('');
      const expected: Record<string, string> = {};
      for (const [name, value] of new URLSearchParams(rawQuery)) {
        if (names.has(name)) expected[name] ??= value;
      }
      assert.deepEqual(read(rawQuery), expected);
    }),
    { numRuns: 1000 },
  );
});
