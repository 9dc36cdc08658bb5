/**
 * Checks if a tag can be released, and prints what CHANGELOG.md says of it: `npm run --silent release:check -- v1.2.3`.
 * Exits 1 and names every fault. On standard error: what no test has shown, for it takes a registry.
 */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { changelogSection } from './changelog-section.ts';
import { registryCommands } from './registry-commands.ts';
import { releaseFaults, versionOf } from './release-faults.ts';

const root = resolve(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const tag = process.argv[2] ?? '';
const faults = releaseFaults(tag, read);
if (faults.length > 0) {
  process.stderr.write(`${faults.join('\n')}\n`);
  process.exitCode = 1;
} else {
  const only = Object.entries(registryCommands).map(([command, what]) => `  ${command}: ${what}\n`);
  process.stderr.write(`The workflow itself will show what only registries can:\n${only.join('')}`);
  process.stdout.write(`${changelogSection(read('CHANGELOG.md'), versionOf(tag) ?? '')}\n`);
}
