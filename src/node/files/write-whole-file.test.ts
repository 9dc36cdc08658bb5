import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import files, { readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { ownerForTests } from '../../../test/support/owner-for-tests.ts';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import { checkReplaceable, replaceFile, writeNewFile } from './write-whole-file.ts';

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
  await writeNewFile(path, `${path}.tmp`, 'first');
  await assert.rejects(writeNewFile(path, `${path}.tmp`, 'second'), { code: 'EEXIST' });
  assert.equal(await readFile(path, 'utf8'), 'first');
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  assert.deepEqual(await readdir(directory), ['key']);
});

test('where a file system has no links, a new file is written under its own name all the same', async (context) => {
  const path = join(await temporaryDirectory(context), 'key');
  context.mock.method(files, 'link', async () => {
    throw Object.assign(new Error('no links'), { code: 'EPERM' });
  });
  syncBuiltinESMExports();
  context.after(() => {
    context.mock.restoreAll();
    syncBuiltinESMExports();
  });
  await writeNewFile(path, `${path}.tmp`, 'first');
  await assert.rejects(writeNewFile(path, `${path}.tmp`, 'second'), { code: 'EEXIST' });
  assert.equal(await readFile(path, 'utf8'), 'first');
});
