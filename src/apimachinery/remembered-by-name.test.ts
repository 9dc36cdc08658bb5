import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rememberingNames } from './remembered-by-name.ts';

test('a name is judged once, each spelling by itself', () => {
  const judged: string[] = [];
  const isLong = rememberingNames((name) => judged.push(name) > 0 && name.length > 3);
  for (const name of ['accept', 'te', 'accept', 'Accept', 'te']) assert.equal(isLong(name), name.length > 3);
  assert.deepEqual(judged, ['accept', 'te', 'Accept']);
});

test('attack: neither many names nor long ones are kept', () => {
  let judged = 0;
  const judge = rememberingNames((name) => {
    judged++;
    return name === 'x'.repeat(65);
  });
  for (let turn = 0; turn < 2; turn++) assert.equal(judge('x'.repeat(65)), true);
  assert.equal(judged, 2);
  judge('accept');
  for (let index = 0; index < 600; index++) judge(`x-${index}`);
  const before = judged;
  judge('accept');
  assert.equal(judged, before + 1);
});
