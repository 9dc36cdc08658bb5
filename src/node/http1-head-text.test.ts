import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { headText } from './http1-head-text.ts';

const headOf = (length: number): string => `HTTP/1.1 200 OK\r\nA: ${'\xe9'.repeat(length - 20)}`;
const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1');

describe('the head in front of an answer', () => {
  // 1,020 is the last whose end stands within what is looked through as text.
  for (const length of [21, 1_018, 1_019, 1_020, 1_021, 1_022, 1_023, 1_024, 1_025, 5_000]) {
    const head = headOf(length);
    test(`of ${length} bytes is found with or without a body behind it, whatever has been seen of it`, () => {
      for (const body of ['', 'x', '\r\n\r\n', 'y'.repeat(2_000)]) {
        const bytes = bytesOf(`${head}\r\n\r\n${body}`);
        for (const seen of [0, 1, 2, 3, 4, length - 1, length, length + 1, length + 2, length + 3]) {
          assert.equal(headText(bytes, seen), head, `${seen} seen, ${body.length} behind`);
        }
      }
    });

    test(`of ${length} bytes is not whole before the last byte of its end`, () => {
      const whole = bytesOf(`${head}\r\n\r\n`);
      for (let cut = 1; cut <= 4; cut++) {
        assert.equal(headText(whole.subarray(0, whole.length - cut), 0), undefined);
      }
    });
  }
});
