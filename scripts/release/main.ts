/**
 * Whether a tag can be released, and what CHANGELOG.md says of it: `npm run --silent release:check -- v1.2.3`. Exits 1
 * and names every fault.
 */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { changelogSection } from './changelog-section.ts';
import { releaseFaults, versionOf } from './release-faults.ts';

const root = resolve(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const tag = process.argv[2] ?? '';
const faults = releaseFaults(tag, read);
if (faults.length > 0) {
  process.stderr.write(`${faults.join('\n')}\n`);
  process.exitCode = 1;
} else {
  process.stdout.write(`${changelogSection(read('CHANGELOG.md'), versionOf(tag) ?? '')}\n`);
}
