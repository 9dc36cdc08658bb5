import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runCommand } from '../../../test/support/command-context.ts';
import { exampleText } from './help.ts';

describe('an example in help', () => {
  it('stays on one line where it fits', () => {
    assert.equal(
      exampleText({ comment: 'Begin.', line: 'keygen --out keys' }, 80),
      '  # Begin.\n  mixed-version-proxy keygen --out keys',
    );
  });

  it('goes on behind a backslash, and no line is longer than the terminal', () => {
    const line = 'sync --kubeconfig sync.kubeconfig --target https://10.0.0.1:7443 --unsigned';
    assert.equal(
      exampleText({ comment: 'One two three four five six seven eight nine.', line }, 40),
      [
        '  # One two three four five six seven',
        '  # eight nine.',
        '  mixed-version-proxy sync \\',
        '      --kubeconfig sync.kubeconfig \\',
        '      --target https://10.0.0.1:7443 \\',
        '      --unsigned',
      ].join('\n'),
    );
  });

  it('keeps a flag with its value, and what follows an operator with it', () => {
    const text = exampleText({ comment: 'x', line: 'explain --stdin > file && cat file' }, 36);
    assert.match(text, /^ {2}mixed-version-proxy explain \\\n {6}--stdin > file && cat file$/m);
  });

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
