import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCommand } from '../support/command-context.ts';
import { readPages } from './support/pages.ts';

const configurations = (await readPages()).flatMap(({ path, blocks }) =>
  blocks
    .filter(({ lines }) => lines.includes('kind: RouterConfiguration'))
    .map(({ line, lines }) => ({ place: `${path}:${line}`, text: lines.join('\n') })),
);

test('the configurations of the pages have keys and values that there are', async () => {
  assert.ok(configurations.length > 1);
  for (const { place, text } of configurations) {
    const files = new Map([['config.yaml', text]]);
    const { errors } = await runCommand(files, ['serve', '--dry-run', '--config=config.yaml']);
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
