import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { runCommand } from '../../../test/support/command-context.ts';

const shells = ['bash', 'zsh', 'fish'] as const;
const run = promisify(execFile);
const isThere = (shell: string): boolean => spawnSync(shell, ['--version']).status === 0;
const skipWithout = (shell: string): string | false =>
  isThere(shell) ? false : `${shell} is not installed on this machine`;

let directory: string;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'completion-'));
  for (const shell of shells) {
    const { code, output } = await runCommand(new Map(), ['completion', shell]);
    assert.equal(code, 0);
    await writeFile(join(directory, shell), output);
  }
  await mkdir(join(directory, 'files', 'folder'), { recursive: true });
  await writeFile(join(directory, 'files', 'a file.yaml'), '');
});
after(() => rm(directory, { recursive: true, force: true }));

/** What bash offers for these words, of which the last one is being written. */
async function offered(...words: readonly string[]): Promise<readonly string[]> {
  const script = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _mixed_version_proxy
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const args = ['--norc', '-c', script, 'bash', join(directory, 'bash'), 'mixed-version-proxy', ...words];
  const { stdout } = await run('bash', args, { cwd: join(directory, 'files') });
  return stdout.split('\n').filter((line) => line !== '');
}

describe('completion in bash', { skip: skipWithout('bash') }, () => {
  it('offers commands', async () => {
    assert.deepEqual(await offered('s'), ['serve', 'sync', 'status']);
    assert.ok((await offered('')).includes('explain'));
    assert.deepEqual(await offered('help', 'val'), ['validate']);
    assert.deepEqual(await offered('completion', ''), ['bash', 'zsh', 'fish']);
  });

  it('offers the flags of the command', async () => {
    assert.deepEqual(await offered('serve', '--secure'), ['--secure-port']);
    assert.deepEqual(await offered('sync', '--kubec'), ['--kubeconfig']);
    assert.deepEqual(await offered('explain', '--secure'), []);
  });

  it('offers the values of a flag, behind a space and behind =', async () => {
    assert.deepEqual(await offered('serve', '--snapshot-stale-policy', ''), [
      'local',
      'serve-stale',
      'unavailable',
    ]);
    assert.deepEqual(await offered('serve', '--logging-format', '=', 'j'), ['json']);
    assert.deepEqual(await offered('serve', '--logging-format', '='), ['text', 'json']);
    assert.deepEqual(await offered('serve', '--gateway', 't'), ['true']);
    assert.deepEqual(await offered('explain', '-o', ''), ['text', 'json']);
    assert.deepEqual(await offered('serve', '--server-id', ''), []);
  });

  it('offers files where a flag or an argument is one', async () => {
    assert.deepEqual((await offered('serve', '--config', '')).toSorted(), ['a file.yaml', 'folder']);
    assert.deepEqual(await offered('validate', 'a'), ['a file.yaml']);
    assert.deepEqual(await offered('keygen', '--out', ''), ['folder']);
  });
});

describe('completion in zsh and fish', () => {
  for (const shell of ['zsh', 'fish'] as const) {
    it(`is a script that ${shell} can read`, { skip: skipWithout(shell) }, async () => {
      await run(shell, ['-n', join(directory, shell)]);
    });
  }

  it('has commands, flags, values and files', async () => {
    const { output: zsh } = await runCommand(new Map(), ['completion', 'zsh']);
    assert.match(zsh, /^#compdef mixed-version-proxy$/m);
    assert.match(zsh, /'serve:Run the router'/);
    assert.match(zsh, /'\*--snapshot-stale-policy=\[[^\]]+\]:value:\(local serve-stale unavailable\)'/);
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
