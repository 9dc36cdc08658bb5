import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseJsonInPieces } from './json-pieces.ts';
import { parseLargeJson } from './large-json.ts';
import { createTimeSlice, type TimeSlice } from './time.ts';
import { parseJsonText } from './validation.ts';

const long = 'x'.repeat(70_000);
const many = Array.from({ length: 9_000 }, (_, index) => ({ index, '"a\\': [{}, [], 'ü', ',]}'] }));

test('any text comes to the same as when it is parsed at once, errors included', async () => {
  const same = async (text: string) =>
    assert.deepEqual(await parseJsonInPieces(text, 8, createTimeSlice()), parseJsonText(text, 8));
  const large = JSON.stringify({ many, inner: { many, long, empty: {}, none: [] }, '5': 1, b: 2 });
  await same(large);
  await same(JSON.stringify({ many, long }, null, 2));
  for (const text of [
    '',
    '7',
    '{}',
    '[]',
    '[ ]',
    '{"a":{}}',
    '[1,]',
    '[,1]',
    '{"a":1}}',
    '[}',
    '{"a":1} x',
  ]) {
    await same(text);
  }
  for (const [from, to] of [
    [',{', '{'],
    ['},', '},,'],
    [']}]', ']}],'],
    [`"${long}"`, `"${long}`],
  ] as const) {
    await same(large.replace(from, to));
  }
  await same(`[${JSON.stringify(many)},]`);
  await same(`[${JSON.stringify(many)}${JSON.stringify(many)}]`);
  await same(`{"a"${JSON.stringify(many)}}`);
  await same(`[[[[[[[[[${JSON.stringify(many)}]]]]]]]]]`);
  await same(`{"a":${JSON.stringify(many)},"__proto__":${JSON.stringify(many)},"a":1}`);
  await fc.assert(fc.asyncProperty(fc.json(), same), { numRuns: 200 });
});

test('others run in between: it rests after each piece', async () => {
  let rests = 0;
  const slice: TimeSlice = {
    rest() {
      rests++;
      return undefined;
    },
  };
  const text = JSON.stringify({ many });
  await parseJsonInPieces(text, 8, slice);
  assert.ok(rests >= text.length / 100_000, `${rests} rests in ${text.length} characters`);
});

test('a text of up to 256 KiB is parsed at once, a longer one in pieces', async () => {
  for (const [length, inPieces] of [
    [262_144, false],
    [262_145, true],
  ] as const) {
    let rests = 0;
    const slice: TimeSlice = { rest: () => void rests++ };
    const parsed = await parseLargeJson(JSON.stringify(['x'.repeat(length - 4)]), 8, slice);
    assert.ok(parsed.ok);
    assert.equal(rests > 0, inPieces);
  }
});
