import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { changelogSection } from '../../scripts/release/changelog-section.ts';
import {
  placeholders,
  releaseFaults,
  versionOf,
  versionPlaces,
} from '../../scripts/release/release-faults.ts';

const root = resolve(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const { version } = JSON.parse(read('package.json')) as { version: string };
const released = (path: string) =>
  read(path)
    .replace('## [Unreleased]', `## [${version}] - 2026-11-24`)
    .replaceAll(placeholders[path]?.[0] ?? '## [Unreleased]', 'filled in');

describe('what keeps a tag from being released', () => {
  test('nothing, when every place has its version and the changelog speaks of it', () => {
    assert.deepEqual(releaseFaults(`v${version}`, released), []);
  });

  test('each place with another version', () => {
    const faults = releaseFaults('v99.0.0', released);
    for (const path of [...Object.keys(versionPlaces), 'CHANGELOG.md']) {
      assert.ok(
        faults.some((fault) => fault.startsWith(`${path}: `)),
        path,
      );
    }
  });

  test('a changelog that has it among the unreleased only', () => {
    assert.match(releaseFaults(`v${version}`, read).join('\n'), /^CHANGELOG\.md: says nothing of/m);
  });

  test('placeholders for the people who review and the address for reports', () => {
    const unfilled = (path: string) => (path === 'CHANGELOG.md' ? released(path) : read(path));
    assert.deepEqual(
      releaseFaults(`v${version}`, unfilled).map((fault) => fault.split(':')[0]),
      Object.keys(placeholders),
    );
  });

  test('a tag that is no version, or one that no image can have', () => {
    for (const tag of ['', '1.2.3', 'v1.2', 'v1.2.3+build', 'v1.2.3; rm', 'vnext']) {
      assert.equal(versionOf(tag), undefined, tag);
      assert.equal(releaseFaults(tag, released).length, 1, tag);
    }
    assert.equal(versionOf('v1.2.3-rc.1'), '1.2.3-rc.1');
  });
});

test('of the changelog, a release shows the section of its version alone', () => {
  const changelog =
    '# Changes\n\n## [Unreleased]\n\nnew\n\n## [1.1.0] - 2026-01-01\n\n### Added\n\n- a\n\n## [1.0.0]\n\nold\n';
  assert.equal(changelogSection(changelog, '1.1.0'), '### Added\n\n- a');
  assert.equal(changelogSection(changelog, '1.0.0'), 'old');
  assert.equal(changelogSection(changelog, '0.9.0'), undefined);
});
