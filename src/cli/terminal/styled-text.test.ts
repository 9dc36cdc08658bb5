import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { renderLines, wrapped } from './styled-text.ts';

describe('styled text', () => {
  it('is the same text with colours and without', () => {
    const lines = [[{ text: 'cp-a', style: 'good' as const }, ' is ready'], []];
    assert.equal(renderLines(lines, true), '\u001b[32mcp-a\u001b[39m is ready\n\n');
    assert.equal(renderLines(lines, false), 'cp-a is ready\n\n');
  });

  it('attack: shows what turns the order of characters round, or hides some (CVE-2021-42574), as it does escapes', () => {
    assert.equal(renderLines([['cp\u202e3-\u2066a\u200b\u2028b']], false), 'cp?3-?a??b\n');
  });

  it('has no escapes but its own, whatever a server says', () => {
    const said = 'ready\u001b[2J\r\n\u009b31m';
    const lines = [[said, { text: said, style: 'bad' as const }]];
    assert.equal(renderLines(lines, false), 'ready?[2J???31mready?[2J???31m\n');
    assert.equal(renderLines(lines, true), `ready?[2J???31m\u001b[31mready?[2J???31m\u001b[39m\n`);
  });
});

test('a text is broken at spaces alone, however narrow the terminal is', () => {
  const url = 'https://example.org/a/very/long/path';
  assert.deepEqual(wrapped(`see ${url} first`, 10), ['see', url, 'first']);
  assert.deepEqual(wrapped('one two', -3), ['one', 'two']);
  assert.deepEqual(wrapped('one two', 80), ['one two']);
});
