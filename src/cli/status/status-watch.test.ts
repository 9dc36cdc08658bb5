import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commandContext } from '../../../test/support/command-context.ts';
import { screenOf, watch } from './status-command.ts';

const text = (lines: number) =>
  `${Array.from({ length: lines }, (_, index) => `line ${index + 1}`).join('\n')}\n`;

test('what a terminal has no room for does not scroll the beginning away, and is counted', () => {
  assert.equal(screenOf(text(23), 24), text(23));
  const cut = screenOf(text(24), 24);
  assert.equal(cut, `${text(22)}… 2 more lines: make the window higher\n`);
  assert.equal(cut.split('\n').length, 24);
  assert.equal(screenOf(text(5), 0), `${text(1)}… 4 more lines: make the window higher\n`);
});

test('a picture of --watch is no higher than the terminal, and whole where there is none', async () => {
  const shutdownSignal = Promise.resolve('SIGTERM' as const);
  const shown = async (outputIsTerminal: boolean) => {
    const { context, written } = commandContext(new Map(), { outputIsTerminal, shutdownSignal });
    await watch(async () => text(50), context);
    return written.output.split('\n').length;
  };
  assert.equal(await shown(true), 24);
  assert.ok((await shown(false)) > 50);
});
