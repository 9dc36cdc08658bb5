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

/** Asks a shell what it offers for these words, of which the last one is being written. */
type Offered = (...words: readonly string[]) => Promise<readonly string[]>;

const program = 'mixed-version-proxy';

async function linesOf(command: string, args: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await run(command, args, {
    cwd: join(directory, 'files'),
    // Whatever a shell keeps for next time, it keeps there.
    env: { ...process.env, HOME: directory },
    timeout: 20_000,
  });
  return stdout.split('\n').filter((line) => line !== '');
}

const offeredBy: Readonly<Record<(typeof shells)[number], Offered>> = {
  bash(...words) {
    const script = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _mixed_version_proxy
      printf '%s\\n' "\${COMPREPLY[@]}"`;
    return linesOf('bash', ['--norc', '-c', script, 'bash', join(directory, 'bash'), program, ...words]);
  },
  async zsh(...words) {
    const capture = join(import.meta.dirname, '../../../test/support/offered-by-zsh.zsh');
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
    const script = 'source $argv[1]; complete -C $argv[2]';
    const line = [program, ...words].join(' ');
    const offered = await linesOf('fish', ['--no-config', '-c', script, join(directory, 'fish'), line]);
    // Behind a tab stands what it is for; behind a folder a slash.
    return offered.map((entry) => (entry.split('\t')[0] ?? '').replace(/\/$/, ''));
  },
};

for (const shell of shells) {
  const offered: Offered = async (...words) => (await offeredBy[shell](...words)).toSorted();

  describe(`completion in ${shell}`, { skip: skipWithout(shell) }, () => {
    it('offers commands', async () => {
      assert.deepEqual(await offered('s'), ['serve', 'status', 'sync']);
      assert.ok((await offered('')).includes('explain'));
      assert.deepEqual(await offered('help', 'val'), ['validate']);
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
      const policies = ['local', 'serve-stale', 'unavailable'];
      assert.deepEqual(await offered('serve', '--snapshot-stale-policy', ''), policies);
      assert.deepEqual(await offered('serve', '--gateway', 't'), ['true']);
      assert.deepEqual(await offered('serve', '--gateway', '--server-i'), ['--server-id']);
      assert.deepEqual(await offered('explain', '-o', ''), ['json', 'text']);
      assert.deepEqual(await offered('serve', '--server-id', ''), []);
    });

    it('offers files where a flag or an argument is one', async () => {
      assert.deepEqual(await offered('serve', '--config', ''), ['a file.yaml', 'folder']);
      assert.deepEqual(await offered('validate', 'a'), ['a file.yaml']);
      assert.deepEqual(await offered('keygen', '--out', ''), ['folder']);
    });
  });
}

it('offers values behind =, which bash makes a word of its own of', {
  skip: skipWithout('bash'),
}, async () => {
  assert.deepEqual(await offeredBy.bash('serve', '--logging-format', '=', 'j'), ['json']);
  assert.deepEqual(await offeredBy.bash('serve', '--logging-format', '='), ['text', 'json']);
});

for (const shell of ['zsh', 'fish'] as const) {
  it(`offers values behind = in ${shell}`, { skip: skipWithout(shell) }, async () => {
    const offered = await offeredBy[shell]('serve', '--logging-format=j');
    assert.deepEqual(
      offered.map((value) => value.replace('--logging-format=', '')),
      ['json'],
    );
  });
}

describe('the scripts for zsh and fish', () => {
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
