import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { isLabelSelector } from './label-selector.ts';

const cases: readonly (readonly [behaviour: string, valid: readonly string[], invalid: readonly string[]])[] =
  [
    ['nothing, or white space', ['', ' ', '\t\r\n'], ['\v', '\u00a0']],
    ['existence', ['a', '!a', ' ! a ', 'in', '!notin'], ['!', '!!a', 'a b', '!a=b', '!a in (b)']],
    ['several requirements', ['a,b', 'a=b,!c,d in (e)'], [',', ',a', 'a,', 'a,,b']],
    [
      'equality',
      ['a=b', 'a==b', 'a!=b', 'a = b', 'a='],
      ['a=b=c', 'a===b', 'a!==b', 'a=!b', 'a=(b)', '=b', 'a!b'],
    ],
    ['equality with nothing behind it', ['a=,b', 'a!=', 'a=='], ['a=)']],
    [
      'comparison of integers',
      ['a>1', 'a<2', 'a > 007'],
      ['a>', 'a>x', 'a>-1', 'a>9223372036854775808', 'a>=1'],
    ],
    [
      'sets',
      ['a in (b)', 'a notin (b,c)', 'a in(b)'],
      ['a in b', 'a in', 'a in (b', 'a in (b c)', 'a in (b)c'],
    ],
    [
      'sets with empty values',
      ['a in ()', 'a in (,)', 'a in (b,)', 'a in (,b)', 'a in (b,,c)'],
      ['a in ((b))'],
    ],
    ['operators as words', ['in=notin', 'a=in', 'in in (in,notin)'], ['a in in', 'a in notin (b)']],
    [
      'keys',
      ['a.b_c-d=e', 'example.com/a=b', `${'a'.repeat(63)}=b`, `${'a'.repeat(253)}/b`],
      [
        '-a',
        'a-',
        '/a',
        'a/',
        'a/b/c',
        'Example.com/a',
        'a..b/c',
        `${'a'.repeat(64)}`,
        `${'a'.repeat(254)}/b`,
        'é',
      ],
    ],
    [
      'values',
      ['a=B_c.d-e', `a=${'b'.repeat(63)}`],
      ['a=-b', 'a=b-', 'a=b/c', 'a=b:c', 'a=*', `a=${'b'.repeat(64)}`],
    ],
    ['values in sets', ['a in (b.c)'], ['a in (b:c)', 'a in (!b)', 'a in (=)']],
    ['a NUL behind a token, which is skipped', ['a\0', 'a=\0b', 'a\0=b'], ['a\0b', 'a=\0!']],
    [
      'a NUL where a token would begin, which ends the selector',
      ['\0=', 'a=b\0\0)'],
      ['a,\0\0b', 'a in (\0\0b)'],
    ],
  ];

describe('a label selector is judged as Kubernetes judges it', () => {
  for (const [behaviour, valid, invalid] of cases) {
    test(behaviour, () => {
      for (const selector of valid) assert.equal(isLabelSelector(selector), true, JSON.stringify(selector));
      for (const selector of invalid)
        assert.equal(isLabelSelector(selector), false, JSON.stringify(selector));
    });
  }
});

test('any string is judged without an exception', () => {
  const token = fc.constantFrom(
    'a',
    'in',
    'notin',
    '=',
    '!',
    '<',
    '>',
    '(',
    ')',
    ',',
    ' ',
    '\0',
    '1',
    '/',
    '.',
    'é',
  );
  fc.assert(
    fc.property(fc.array(token, { maxLength: 20 }), (tokens) => {
      assert.equal(typeof isLabelSelector(tokens.join('')), 'boolean');
    }),
    { numRuns: 2000 },
  );
});
