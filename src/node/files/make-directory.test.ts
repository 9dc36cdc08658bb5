import assert from 'node:assert/strict';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import { makeDirectory } from './write-whole-file.ts';

test('a directory is made with those above it, for its owner alone, and may be there already', async (context) => {
  const root = await temporaryDirectory(context);
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
