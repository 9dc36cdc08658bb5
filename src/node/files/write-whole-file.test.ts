import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs, { readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { ownerForTests } from '../../../test/support/owner-for-tests.ts';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import { checkReplaceable, makeDirectory, replaceFile, writeNewFile } from './write-whole-file.ts';

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

test('a file, and a name that is free, may be replaced', async (context) => {
  const directory = await temporaryDirectory(context);
  const path = join(directory, 'file');
  await checkReplaceable(path);
  await writeFile(path, '');
  await checkReplaceable(path);
});

test('nothing takes the place of a device or a pipe', async (context) => {
  const directory = await temporaryDirectory(context);
  const pipe = join(directory, 'pipe');
  execFileSync('mkfifo', [pipe]);
  await symlink('/dev/null', join(directory, 'null'));
  for (const path of [pipe, join(directory, 'null')]) {
    await assert.rejects(replaceFile(path, `${path}.tmp`, '{}'), /not a regular file/);
  }
  assert.equal((await stat(pipe)).isFIFO(), true);
  assert.deepEqual((await readdir(directory)).sort(), ['null', 'pipe']);
});

test('a file that takes the place of another one has the mode and the owner that are given', async (context) => {
  const path = join(await temporaryDirectory(context), 'file');
  await writeFile(path, 'before');
  const owner = ownerForTests();
  await replaceFile(path, `${path}.tmp`, 'after', 0o666, owner);
  const { mode, uid, gid } = await stat(path);
  // 0666: whatever the umask is.
  assert.deepEqual([mode & 0o777, uid, gid], [0o666, owner.user, owner.group]);
  assert.equal(await readFile(path, 'utf8'), 'after');
});

test('a new file never takes the place of another one, and nothing is left beside it', async (context) => {
  const directory = await temporaryDirectory(context);
  const path = join(directory, 'key');
  await writeNewFile(path, join(directory, '.key.tmp'), 'first');
  await assert.rejects(writeNewFile(path, join(directory, '.key.tmp'), 'second'), { code: 'EEXIST' });
  assert.equal(await readFile(path, 'utf8'), 'first');
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  assert.deepEqual(await readdir(directory), ['key']);
});

test('a file system without hard links takes a new file, and none in the place of another one', async (context) => {
  const directory = await temporaryDirectory(context);
  const path = join(directory, 'key');
  const { mock } = context.mock.method(fs, 'link', async () => {
    throw Object.assign(new Error('EPERM: operation not permitted, link'), { code: 'EPERM' });
  });
  syncBuiltinESMExports();
  try {
    await writeNewFile(path, join(directory, '.key.tmp'), 'first');
    await assert.rejects(writeNewFile(path, join(directory, '.key.tmp'), 'second'), { code: 'EEXIST' });
    assert.equal(mock.callCount(), 2);
  } finally {
    mock.restore();
    syncBuiltinESMExports();
  }
  assert.equal(await readFile(path, 'utf8'), 'first');
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  assert.deepEqual(await readdir(directory), ['key']);
});
