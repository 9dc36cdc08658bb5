import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jsonText } from './structured-text.ts';

test('no text that a router sends controls the terminal, and programs read it as it was sent', () => {
  const controls = Array.from({ length: 0xa0 }, (_, code) => String.fromCharCode(code)).join('');
  const told = {
    [`name\u009b31m`]: 'a\u007fb',
    turned: 'cp\u202e3-\u2066a\u200b\u2028b\u{e0001}',
    list: [controls, 'two\nlines\u0085', '\u009b', '- \u0090', '# \u001b[31m'],
  };
  const text = jsonText(told);
  assert.doesNotMatch(text.replaceAll('\n', ''), /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  assert.deepEqual(JSON.parse(text), told);
});
