import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { runCommand } from './command-context.ts';

type Shell = 'bash' | 'zsh' | 'fish';
const run = promisify(execFile);
const isThere = (shell: string): boolean => spawnSync(shell, ['--version']).status === 0;
const skipWithout = (shell: string): string | false =>
  isThere(shell) ? false : `${shell} is not installed on this machine`;

let directory: string;

/** Asks a shell what it offers for these words, of which the last one is being written. */
type Offered = (...words: readonly string[]) => Promise<readonly string[]>;

const program = 'mixed-version-proxy';

async function linesOf(command: string, args: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await run(command, args, {
    cwd: join(directory, 'files'),
    // Whatever a shell keeps for next time, it keeps there.
    env: { ...process.env, HOME: directory },
    timeout: 120_000,
  });
  return stdout.split('\n').filter((line) => line !== '');
}

const offeredBy: Readonly<Record<Shell, Offered>> = {
  bash(...words) {
    const script = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _mixed_version_proxy
      printf '%s\\n' "\${COMPREPLY[@]}"`;
    return linesOf('bash', ['--norc', '-c', script, 'bash', join(directory, 'bash'), program, ...words]);
  },
  async zsh(...words) {
    const capture = join(import.meta.dirname, 'offered-by-zsh.zsh');
    const offered = await linesOf('zsh', [
      '-f',
      capture,
      join(directory, 'zsh'),
      [program, ...words].join(' '),
    ]);
    // Quoted as they would be written; each once, though folders are offered twice.
    return [...new Set(offered.map((word) => word.replaceAll('\\', '')))];
  },
  async fish(...words) {
    const script = 'source $argv[1]; complete --do-complete $argv[2]';
    const line = [program, ...words].join(' ');
    const offered = await linesOf('fish', ['--no-config', '-c', script, join(directory, 'fish'), line]);
    // A description stands behind a tab, a slash behind a folder.
    return offered.map((word) => word.replace(/\t.*$/, '').replace(/\/$/, '').replaceAll('\\', ''));
  },
};

/** A suite of what one shell offers whoever completes a command line in it. */
export function completionIn(shell: Shell): void {
  const offered: Offered = async (...words) => (await offeredBy[shell](...words)).toSorted();

  describe(`completion in ${shell}`, { skip: skipWithout(shell) }, () => {
    before(async () => {
      directory = await mkdtemp(join(tmpdir(), 'completion-'));
      const { code, output } = await runCommand(new Map(), ['completion', shell]);
      assert.equal(code, 0);
      await writeFile(join(directory, shell), output);
      await mkdir(join(directory, 'files', 'folder'), { recursive: true });
      for (const name of ['a file.yaml', 'a*.yaml']) await writeFile(join(directory, 'files', name), '');
    });
    after(() => rm(directory, { recursive: true, force: true }));

    it('offers commands', async () => {
      assert.deepEqual(await offered('s'), ['serve', 'status', 'sync']);
      assert.ok((await offered('')).includes('explain'));
      assert.deepEqual(await offered('help', 'key'), ['keygen']);
      assert.deepEqual(await offered('completion', ''), ['bash', 'fish', 'zsh']);
    });

    it('offers the flags of the command', async () => {
      assert.deepEqual(await offered('serve', '--secure'), ['--secure-port']);
      assert.deepEqual(await offered('sync', '--kubec'), ['--kubeconfig']);
      assert.deepEqual(await offered('explain', '--secure'), []);
      // doctor takes the flags of serve, and its help leaves them to the one of serve.
      assert.deepEqual(await offered('doctor', '--local-server-n'), ['--local-server-name']);
      assert.deepEqual(await offered('doctor', '--dry'), []);
    });

    it('offers the values of a flag, and behind one that may stand alone the next flag', async () => {
      assert.deepEqual(await offered('serve', '--logging-format', ''), ['json', 'text']);
      if (shell !== 'fish') assert.deepEqual(await offered('serve', '--gateway', 't'), ['true']);
      assert.deepEqual(await offered('serve', '--gateway', '--server-i'), ['--server-id']);
      assert.deepEqual(await offered('explain', '-o', ''), ['json', 'text']);
      assert.deepEqual(await offered('serve', '--server-id', ''), []);
    });

    it('offers files where a flag or an argument is one', async () => {
      assert.deepEqual(await offered('serve', '--config', ''), ['a file.yaml', 'a*.yaml', 'folder']);
      assert.deepEqual(await offered('keygen', '--out', ''), ['folder']);
    });

    it('offers values behind =, of which bash makes a word of its own', async () => {
      assert.deepEqual(await offered('serve', '--logging-format=j'), ['--logging-format=json']);
      if (shell !== 'bash') return;
      assert.deepEqual(await offered('serve', '--logging-format', '=', 'j'), ['json']);
      assert.deepEqual(await offered('serve', '--logging-format', '='), ['json', 'text']);
    });
  });
}
