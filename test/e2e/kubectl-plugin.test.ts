import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, symlinkSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { test } from 'node:test';
import { findKubectls, kubectlMissing } from '../support/clients/kubectl.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const root = resolve(import.meta.dirname, '../..');
const [kubectl] = findKubectls();

test('what npm puts on the PATH is a plugin of kubectl, too', async (context) => {
  assert.ok(kubectl, kubectlMissing);
  const { bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  // As `npm install --global` links them.
  const directory = await temporaryDirectory(context);
  for (const [name, path] of Object.entries<string>(bin))
    symlinkSync(join(root, path), join(directory, name));
  const env = { ...process.env, PATH: [directory, process.env['PATH']].join(delimiter) };
  const run = (...words: string[]) => execFileSync(kubectl.path, words, { env, encoding: 'utf8' });
  assert.match(run('plugin', 'list'), /\/kubectl-mixed_version_proxy$/m);
  assert.match(run('mixed-version-proxy', 'version'), /^mixed-version-proxy v\d+\.\d+\.\d+/);
  assert.match(run('mixed-version-proxy', 'status', '--help'), /--kubeconfig <file>/);
});
