import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import { checkReplaceable, createFileSnapshotStore, replaceFile } from './file-snapshot-store.ts';

test('a file, and a name that is free, may be replaced', async (context) => {
  const directory = await temporaryDirectory(context);
  const path = join(directory, 'file');
  await checkReplaceable(path);
  await writeFile(path, '');
  await checkReplaceable(path);
});

test('no snapshot takes the place of a device or a pipe, as of /dev/null under a router that runs as root', async (context) => {
  const directory = await temporaryDirectory(context);
  const pipe = join(directory, 'pipe');
  execFileSync('mkfifo', [pipe]);
  await symlink('/dev/null', join(directory, 'null'));
  for (const path of [pipe, join(directory, 'null')]) {
    await assert.rejects(createFileSnapshotStore(path).save({ snapshot: 'a.b.c' }), /not a regular file/);
    await assert.rejects(replaceFile(path, `${path}.tmp`, '{}'), /not a regular file/);
  }
  assert.equal((await stat(pipe)).isFIFO(), true);
  assert.deepEqual((await readdir(directory)).sort(), ['null', 'pipe']);
});
