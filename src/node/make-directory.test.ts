import assert from 'node:assert/strict';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeDirectory } from './make-directory.ts';

test('a directory is made with those above it, for its owner alone, and may be there already', async (context) => {
  const root = await mkdtemp(join(tmpdir(), 'make-directory-'));
  context.after(() => rm(root, { recursive: true, force: true }));
  const path = join(root, 'a', 'b', 'c');
  await Promise.all([makeDirectory(path, 0o700), makeDirectory(path, 0o700)]);
  await makeDirectory(path, 0o700);
  assert.equal((await stat(path)).mode & 0o777, 0o700);
  await writeFile(join(root, 'file'), '');
  await assert.rejects(makeDirectory(join(root, 'file', 'x'), 0o700), /EEXIST|ENOTDIR/);
});

test('a file system that takes no directories is an error, not an endless attempt', async () => {
  await assert.rejects(makeDirectory('/proc/1/x/y', 0o700), /ENOENT|EACCES|EPERM/);
});
