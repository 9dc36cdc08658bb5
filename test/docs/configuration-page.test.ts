import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCommand } from '../support/commands/command-context.ts';
import { readPages } from './support/pages.ts';

const commandOf = { RouterConfiguration: ['serve', '--dry-run'], SyncConfiguration: ['sync'] };
const pages = await readPages();
const configurations = Object.entries(commandOf).flatMap(([kind, command]) => {
  const found = pages.flatMap(({ path, blocks }) =>
    blocks
      .filter(({ lines }) => lines.includes(`kind: ${kind}`))
      .map(({ line, lines }) => ({ command, place: `${path}:${line}`, text: lines.join('\n') })),
  );
  assert.ok(found.length > 0, kind);
  return found;
});

test('the configurations of the pages have keys and values that there are', async () => {
  for (const { command, place, text } of configurations) {
    const files = new Map([['config.yaml', text]]);
    const { errors } = await runCommand(files, [...command, '--config=config.yaml']);
    // The files that it names are not here.
    assert.doesNotMatch(errors, /is no key|must be/, place);
  }
});

test('a key that there is not would be noticed', async () => {
  const text = configurations[0]?.text.replace('serving:', 'servings:') ?? '';
  const { errors } = await runCommand(new Map([['config.yaml', text]]), [
    'serve',
    '--dry-run',
    '--config=config.yaml',
  ]);
  assert.match(errors, /servings is no key of this configuration/);
});
