import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseLargeJson } from './large-json.ts';
import { createTimeSlice, type TimeSlice } from './time.ts';
import { parseJsonText } from './validation.ts';

const long = 'x'.repeat(70_000);
const many = Array.from({ length: 9_000 }, (_, index) => ({ index, '"a\\': [{}, [], 'ü', ',]}'] }));

test('any text comes to the same as when it is parsed at once, errors included', async () => {
  const same = async (text: string) =>
    assert.deepEqual(await parseLargeJson(text, 8, createTimeSlice()), parseJsonText(text, 8));
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
  await parseLargeJson(text, 8, slice);
  assert.ok(rests >= text.length / 100_000, `${rests} rests in ${text.length} characters`);
});

test('what is known is not parsed', async () => {
  const known = new Map<string, (key: string) => string | undefined>([
    ['sets', (key: string) => (key === 'a:b' ? 'the known one' : undefined)],
    ['list', (text: string) => (text === '{"n":1}' ? 'one' : undefined)],
  ]);
  const text = '{"list":[{"n":0},{"n":1},{"n":2}],"sets":{"a:b":{ "broken },"c":[]}}'.replace(
    '{ "broken }',
    '[nonsense]',
  );
  assert.deepEqual(await parseLargeJson(text, 8, createTimeSlice(), known), {
    ok: true,
    value: { list: [{ n: 0 }, 'one', { n: 2 }], sets: { 'a:b': 'the known one', c: [] } },
  });
});
