import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { runCommand } from '../../../test/support/command-context.ts';
import { completionIn, skipWithout } from '../../../test/support/completion-in-shell.ts';

const run = promisify(execFile);

// zsh: completion.slow.test.ts.
completionIn('bash');
completionIn('fish');

describe('the scripts for zsh and fish', () => {
  for (const shell of ['zsh', 'fish'] as const) {
    it(`is a script that ${shell} can read`, { skip: skipWithout(shell) }, async () => {
      const directory = await mkdtemp(join(tmpdir(), 'completion-'));
      try {
        const { output } = await runCommand(new Map(), ['completion', shell]);
        await writeFile(join(directory, shell), output);
        await run(shell, ['-n', join(directory, shell)]);
      } finally {
        await rm(directory, { recursive: true, force: true });
      }
    });
  }

  it('has commands, flags, values and files', async () => {
    const { output: zsh } = await runCommand(new Map(), ['completion', 'zsh']);
    assert.match(zsh, /^#compdef mixed-version-proxy$/m);
    assert.match(zsh, /'serve:Run the router'/);
    assert.match(zsh, /'\*--preferred-version-scope=\[[^\]]+\]:value:\(differing all\)'/);
    assert.match(zsh, /'\*--config=\[[^\]]+\]:value:_files'/);
    const { output: fish } = await runCommand(new Map(), ['completion', 'fish']);
    assert.match(fish, /-n __fish_use_subcommand -a serve -d 'Run the router'/);
    assert.match(fish, /seen_subcommand_from serve' -l logging-format -x -a 'text json' -d /);
    assert.match(fish, /seen_subcommand_from serve' -l config -r -F -d /);
  });

  it('knows no other shells', async () => {
    assert.equal((await runCommand(new Map(), ['completion', 'tcsh'])).code, 2);
  });
});
