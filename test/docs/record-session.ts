/**
 * Writes into the pages what their commands against the demo print: `npm run generate -- --session`. Lines that are wider than
 * a page are cut. What differs from run to run gets its `…` by hand, behind it.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { demoServers } from '../../demo/cluster.ts';
import { startDemo } from '../support/clusters/running-demo.ts';
import { commandsOf } from './support/command-lines.ts';
import type { FencedBlock } from './support/markdown-page.ts';
import { readPages, root } from './support/pages.ts';
import { type CommandResult, runInShell } from './support/shell-session.ts';

const widest = 150;
const isRecorded = ({ language, declarations }: FencedBlock) =>
  language === 'console' && declarations.includes('demo');

const running = await startDemo({ servers: demoServers });
try {
  for (const { path, blocks } of await readPages()) {
    const recorded = blocks.filter(isRecorded);
    if (recorded.length === 0) continue;
    const results = await runInShell(recorded.flatMap(commandsOf), {
      directory: running.home,
      environment: {
        PATH: [join(root, 'bin'), dirname(process.execPath), process.env['PATH']].join(delimiter),
        HOME: running.home,
      },
      timeout: 120_000,
    });
    await writeFile(
      join(root, path),
      withOutput(await readFile(join(root, path), 'utf8'), recorded, results),
    );
    process.stdout.write(`${path}\n`);
  }
} finally {
  await running.stop();
}

/** The text of a page with the output of its commands replaced. Pure. */
function withOutput(text: string, blocks: readonly FencedBlock[], results: readonly CommandResult[]): string {
  const lines: (readonly string[])[] = text.split('\n').map((line) => [line]);
  for (const block of blocks) {
    for (let at = 0; at < block.lines.length; at += 1) {
      const isCommand = block.lines[at]?.startsWith('$ ') === true;
      const result = results.find(({ line }) => line === block.line + at + 1);
      lines[block.line + at] = isCommand ? [block.lines[at] ?? '', ...outputLines(result)] : [];
    }
  }
  return lines.flat().join('\n');
}

function outputLines(result: CommandResult | undefined): readonly string[] {
  const written = result?.written.trimEnd() ?? '';
  if (written === '') return [];
  return written
    .split('\n')
    .map((line) => (line.length > widest ? `${line.slice(0, widest - 1)}…` : line.trimEnd()));
}
