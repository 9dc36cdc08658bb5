import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCommand } from '../../../test/support/commands/command-context.ts';
import { completionIn } from '../../../test/support/commands/completion-in-shell.ts';

// zsh: completion.slow.test.ts.
completionIn('bash');
completionIn('fish');

test('completion knows no other shells', async () => {
  assert.equal((await runCommand(new Map(), ['completion', 'tcsh'])).code, 2);
});
