import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { describeWork, figuresOf, newWork } from './work.ts';

describe('figures of a client program', () => {
  test('are the last line of JSON that it printed', () => {
    const writing = { done: 2, errors: { reset: 3 }, gaps: 0, duplicates: 0 };
    assert.deepEqual(figuresOf(`ready\na warning\n${JSON.stringify({ writing })}\n`, ''), { writing });
  });

  test('of a program that broke are one error, with what it said', () => {
    assert.deepEqual(figuresOf('ready\nout of memory\n', 'out of memory'), {
      program: { done: 0, errors: { 'out of memory': 1 }, gaps: 0, duplicates: 0 },
    });
  });

  test('count what was done, and errors by what they say', async () => {
    const { work, count } = newWork();
    const refuse = async () => {
      throw new Error('connection refused');
    };
    assert.equal(await count(async () => 1), true);
    assert.equal(await count(refuse), false);
    assert.equal(await count(refuse), false);
    assert.equal(describeWork(work), '1 done, 2 errors, 0 gaps, 0 duplicates\n  2 × connection refused');
    const body = JSON.stringify(JSON.stringify({ kind: 'Status', message: 'please try again' }));
    await count(() => Promise.reject(new Error(`HTTP-Code: 503\nBody: ${body}`)));
    assert.equal(work.errors['please try again'], 1);
  });
});
