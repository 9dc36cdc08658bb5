import assert from 'node:assert/strict';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { demoServers } from '../../demo/cluster.ts';
import { findKubectls, kubectlMissing } from '../support/clients/kubectl.ts';
import { type DemoUnderTest, startDemo } from '../support/clusters/running-demo.ts';
import { commandsOf, isCommandBlock } from './support/command-lines.ts';
import type { RunDeclaration } from './support/declarations.ts';
import { type Page, readPages, root } from './support/pages.ts';
import { type CommandResult, runInShell } from './support/shell-session.ts';

/**
 * Pattern that output has to match: the lines a page shows, in which `…` stands for anything, also several lines. Space
 * at the ends of lines does not count, nor does how wide columns are. Pure.
 */
function outputPattern(shown: readonly string[]): RegExp {
  const text = normalized(shown.join('\n'));
  const pattern = text
    .split('…')
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('[\\s\\S]*?');
  return new RegExp(`^${pattern}$`);
}

/** Output in the form that `outputPattern` matches. */
function normalized(output: string): string {
  return output
    .replaceAll(/[ \t]+/g, ' ')
    .replaceAll(/ *\n/g, '\n')
    .trim();
}

const pages = await readPages();
/** Folders that the commands of pages name as if they stood in the root of the repository. */
const beside = ['bin', 'test', 'deploy', 'examples', 'scripts'];

const commandsToRun = (page: Page, declaration: RunDeclaration) =>
  page.blocks
    .filter((block) => isCommandBlock(block) && block.declarations.includes(declaration))
    .flatMap((block) =>
      commandsOf(block).map((command) => ({ ...command, isShown: block.language === 'console' })),
    );

const pagesWith = (declaration: RunDeclaration) =>
  pages.filter((page) => commandsToRun(page, declaration).length > 0);

/** Runs a page's commands in `directory`, and holds what they write against what the page shows. */
async function runPage(page: Page, declaration: RunDeclaration, directory: string): Promise<void> {
  const commands = commandsToRun(page, declaration);
  const compileCache = process.env['NODE_COMPILE_CACHE'];
  const environment = {
    // The commands by their names, and the Node that runs this.
    PATH: [join(root, 'bin'), dirname(process.execPath), process.env['PATH']].join(delimiter),
    HOME: directory,
    // As every process of the tests (scripts/test/run-suites.ts).
    ...(compileCache !== undefined && { NODE_COMPILE_CACHE: compileCache }),
  };
  const results = await runInShell(commands, { directory, environment, timeout: 120_000 });
  for (const [index, result] of results.entries()) {
    const where = `${page.path}:${result.line}: ${result.command}`;
    if (commands[index]?.isShown === true) assertShown(where, result);
    else assert.equal(result.exitCode, 0, `${where}\n${result.written}`);
  }
}

function assertShown(where: string, { output, written }: CommandResult): void {
  const pattern = outputPattern(output);
  assert.ok(
    pattern.test(normalized(written)),
    `${where}\nthe page shows\n${output.join('\n')}\nit wrote\n${written}`,
  );
}

describe('the commands of the pages', () => {
  for (const page of pagesWith('run')) {
    test(`${page.path} shows what happens`, async () => {
      const directory = await mkdtemp(join(tmpdir(), 'pages-'));
      try {
        for (const name of beside) await symlink(join(root, name), join(directory, name));
        await runPage(page, 'run', directory);
      } finally {
        await rm(directory, { recursive: true, force: true });
      }
    });
  }
});

describe('the commands of the pages, against the demo', {
  skip: findKubectls().length === 0 ? kubectlMissing : false,
}, () => {
  let running: DemoUnderTest;
  before(async () => {
    running = await startDemo({ servers: demoServers });
    for (const name of beside) await symlink(join(root, name), join(running.home, name));
  });
  after(() => running.stop());

  for (const page of pagesWith('demo')) {
    test(`${page.path} shows what happens`, () => runPage(page, 'demo', running.home));
  }
});

describe('what a page shows of output', () => {
  test('has … for what differs from run to run', () => {
    const pattern = outputPattern(['NAME   AGE', '…', 'b      …']);
    assert.ok(pattern.test(normalized('NAME AGE\nx 5s\ny 6s\nb   7s\n')));
    assert.ok(!pattern.test(normalized('NAME AGE\nx 5s\n')));
  });

  test('is else what was written, whole', () => {
    assert.ok(!outputPattern(['ready']).test(normalized('not ready')));
    assert.ok(!outputPattern([]).test(normalized('error: no')));
  });
});
