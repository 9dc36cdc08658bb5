import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { faultsOfCalls, isOurFlag } from './support/command-flags.ts';
import { commandsOf, isCommandBlock } from './support/command-lines.ts';
import { commandsElsewhere } from './support/commands-elsewhere.ts';
import { declarations } from './support/declarations.ts';
import type { FencedBlock } from './support/markdown-page.ts';
import { readPages, root } from './support/pages.ts';

const pages = await readPages();
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
};

/** Flags of other programs that sentences name. */
const flagsOfOthers: ReadonlySet<string> = new Set([
  // kube-apiserver
  ...['--anonymous-auth', '--authentication-kubeconfig', '--authorization-kubeconfig'],
  ...['--endpoint-reconciler-type', '--runtime-config', '--service-account-extend-token-expiration'],
  // kubeadm, Node.js, h2load, workerd
  ...[
    '--patches',
    '--experimental',
    '--memory-reducer-gc-count',
    '--no-allocation-site-pretenuring',
    '--rps',
  ],
  // This project's scripts and test suites
  ...[
    '--after',
    '--against',
    '--directory',
    '--find',
    '--first-run',
    '--focus',
    '--forms',
    '--grace',
    '--only',
    '--patience',
    '--pause',
    '--processes',
    '--quick',
    '--record',
    '--rounds',
    '--runs',
    '--seed',
    '--start',
    '--steps',
    '--stops',
    '--times',
    '--upgrades',
    '--upgrade-interval',
    '--ways',
  ],
]);

describe('the commands that the pages show', () => {
  test('are run, or say why they are not', () => {
    const undeclared = pages.flatMap(({ path, blocks }) =>
      blocks
        .filter(
          (block) => isCommandBlock(block) && !block.declarations.some((word) => declarations.has(word)),
        )
        .map(({ line }) => `${path}:${line}: say what to do with it (${[...declarations].join(', ')})`),
    );
    assert.deepEqual(undeclared, []);
  });

  test('have a test that runs them elsewhere, or a reason why none does, where the page itself is not run', () => {
    const notRun = pages.flatMap(({ path, blocks }) =>
      blocks
        .filter(
          (block) =>
            isCommandBlock(block) && !block.declarations.some((word) => word === 'run' || word === 'demo'),
        )
        .flatMap(commandsOf)
        .map(({ line, command }) => ({ where: `${path}:${line}: ${command}`, command })),
    );
    const rowOf = (command: string) => commandsElsewhere.find((row) => row.command.test(command));
    assert.deepEqual(
      notRun.filter(({ command }) => rowOf(command) === undefined).map(({ where }) => where),
      [],
    );
    const used = new Set(notRun.map(({ command }) => rowOf(command)));
    for (const row of commandsElsewhere) {
      assert.ok(used.has(row), `no page has a command for ${row.command}`);
      assert.ok(row.why !== undefined || existsSync(join(root, row.test ?? '')), `${row.test} is not there`);
    }
  });

  test('are in blocks that say that they hold commands', () => {
    const unmarked = pages.flatMap(({ path, blocks }) =>
      blocks
        .filter((block) => isCommandBlock(block) && block.language === '')
        .map(({ line }) => `${path}:${line}: begin it with \`\`\`sh or \`\`\`console`),
    );
    assert.deepEqual(unmarked, []);
  });

  test('use commands and flags that mixed-version-proxy has', () => {
    const faults = pages.flatMap(({ path, blocks }) =>
      blocks
        .filter(isCommandBlock)
        .flatMap(commandsOf)
        .flatMap(({ line, command }) => faultsOfCalls(command).map((fault) => `${path}:${line}: ${fault}`)),
    );
    assert.deepEqual(faults, []);
  });

  test('and the sentences around them name flags that there are', () => {
    const faults = pages.flatMap(({ path, prose }) =>
      prose.flatMap(({ line, text }) =>
        [...text.matchAll(/`(--[a-z][a-z0-9-]*)(\*|…)?[^`]*`/g)]
          .filter(([, flag = '', rest]) => !flagsOfOthers.has(flag) && !isOurFlag(flag, rest !== undefined))
          .map(([code]) => `${path}:${line}: no command has ${code}`),
      ),
    );
    assert.deepEqual(faults, []);
  });

  test('and the sentences around them name npm scripts that there are', () => {
    const faults = pages.flatMap(({ path, blocks, prose }) => {
      return [...prose, ...shownLines(blocks)].flatMap(({ line, text }) =>
        [...text.matchAll(/\bnpm run ([\w:-]+)/g)]
          .map(([, name = '']) => name.replace(/:$/, ''))
          .filter((name) => !Object.hasOwn(manifest.scripts, name))
          .map((name) => `${path}:${line}: there is no npm script ${name}`),
      );
    });
    assert.deepEqual(faults, []);
  });
});

test('the pages name tarballs by paths that npm does not take for owner/repository of GitHub', () => {
  const bare = pages.flatMap(({ path, blocks, prose }) =>
    [...prose, ...shownLines(blocks)].flatMap(({ line, text }) =>
      [...text.matchAll(/(?<![\w./-])[\w-]+\/\S+\.tgz\b/g)].map(
        ([name]) => `${path}:${line}: write ./${name}`,
      ),
    ),
  );
  assert.deepEqual(bare, []);
});

describe('the check of commands', () => {
  test('finds a flag that the command lacks, also behind a pipe', () => {
    assert.deepEqual(
      faultsOfCalls('cat x | bin/mixed-version-proxy explain --stdin --nosuch=1 # --not-this'),
      ['explain has no flag --nosuch'],
    );
  });

  test('finds a command that there is not', () => {
    assert.deepEqual(faultsOfCalls('mixed-version-proxy conquer'), ['there is no command conquer']);
  });

  test('leaves the flags of other programs alone', () => {
    assert.deepEqual(
      faultsOfCalls(
        'kubectl get pods --watch && mixed-version-proxy --version; journalctl --unit mixed-version-proxy --since today',
      ),
      [],
    );
  });
});

/** The lines of blocks, each with its number. */
function shownLines(blocks: readonly FencedBlock[]) {
  return blocks.flatMap(({ line, lines }) => lines.map((text, index) => ({ line: line + index + 1, text })));
}
