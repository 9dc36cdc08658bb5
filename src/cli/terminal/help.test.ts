import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runCommand } from '../../../test/support/commands/command-context.ts';

describe('help', () => {
  it('fits 80 columns in the help of every command', async () => {
    const { output: commands } = await runCommand(new Map(), ['help']);
    const names = [...commands.matchAll(/^ {2}(\w+) {2,}/gm)].map(([, name = '']) => name);
    assert.ok(names.includes('serve') && names.includes('doctor'), commands);
    for (const name of names) {
      const { output } = await runCommand(new Map(), [name, '--help']);
      const tooLong = output.split('\n').filter((line) => line.length > 80);
      assert.deepEqual(tooLong, [], name);
    }
  });
});
