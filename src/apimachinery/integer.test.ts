import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isInt64 } from './integer.ts';

test('decimal integers with or without sign and leading zeros are 64-bit integers', () => {
  const integers = ['0', '-0', '+0', '007', '500', '-1', '+1', '00000000000000000000000000000000001'];
  for (const text of integers) assert.equal(isInt64(text), true, text);
});

test('anything else is none', () => {
  const others = [
    '',
    '-',
    '+',
    '--1',
    '+-1',
    '1.5',
    '1e3',
    '0x10',
    '1_000',
    ' 1',
    '1 ',
    '1\n',
    'abc',
    '١',
    '１',
  ];
  for (const text of others) assert.equal(isInt64(text), false, JSON.stringify(text));
});

test('the range ends where 64 bits end', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 66n), max: 2n ** 66n }), (value) => {
      assert.equal(isInt64(String(value)), BigInt.asIntN(64, value) === value);
    }),
  );
  assert.equal(isInt64('9223372036854775807'), true);
  assert.equal(isInt64('9223372036854775808'), false);
  assert.equal(isInt64('-9223372036854775808'), true);
  assert.equal(isInt64('-9223372036854775809'), false);
  assert.equal(isInt64('+0009223372036854775808'), false);
});
