import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newFieldOf } from './new-field.ts';

const nameOf = (...minors: readonly number[]) => newFieldOf(minors.map((minor) => ({ minor })))?.name;

test('the field that tells versions apart is one that some have and some have not', () => {
  assert.match(nameOf(35, 36) ?? '', /^CSIDriver/);
  assert.match(nameOf(31, 36) ?? '', /^HorizontalPodAutoscaler/);
  assert.match(nameOf(31, 35, 36) ?? '', /^HorizontalPodAutoscaler/);
  assert.equal(nameOf(29, 30), undefined);
});
