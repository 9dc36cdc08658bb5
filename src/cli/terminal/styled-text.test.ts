import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isColored, renderLines, takesColor } from './styled-text.ts';

describe('styled text', () => {
  it('is the same text with colours and without', () => {
    const lines = [[{ text: 'cp-a', style: 'good' as const }, ' is ready'], []];
    assert.equal(renderLines(lines, true), '\u001b[32mcp-a\u001b[0m is ready\n\n');
    assert.equal(renderLines(lines, false), 'cp-a is ready\n\n');
  });

  it('attack: shows what turns the order of characters round, or hides some (CVE-2021-42574), as it does escapes', () => {
    assert.equal(renderLines([['cp\u202e3-\u2066a\u200b\u2028b']], false), 'cp?3-?a??b\n');
  });

  it('has no escapes but its own, whatever a server says', () => {
    const said = 'ready\u001b[2J\r\n\u009b31m';
    const lines = [[said, { text: said, style: 'bad' as const }]];
    assert.equal(renderLines(lines, false), 'ready?[2J???31mready?[2J???31m\n');
    assert.equal(renderLines(lines, true), `ready?[2J???31m\u001b[31mready?[2J???31m\u001b[0m\n`);
  });
});

describe('colours', () => {
  it('are for terminals that show them, unless NO_COLOR asks for none', () => {
    assert.ok(takesColor(true, { TERM: 'xterm-256color' }));
    assert.ok(takesColor(true, { NO_COLOR: '' }), 'an empty value asks for nothing');
    assert.ok(!takesColor(true, { NO_COLOR: '1' }));
    assert.ok(!takesColor(true, { TERM: 'dumb' }));
    assert.ok(!takesColor(false, { TERM: 'xterm-256color' }));
  });

  it('follow --color before all else', () => {
    assert.ok(isColored('always', { outputTakesColor: false }));
    assert.ok(!isColored('never', { outputTakesColor: true }));
    assert.ok(isColored('auto', { outputTakesColor: true }));
    assert.ok(!isColored('auto', { outputTakesColor: false }));
  });
});
