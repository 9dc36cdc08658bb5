import assert from 'node:assert/strict';
import { open, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import { createFileSnapshotStore } from './deno-snapshot-store.ts';

class NotFound extends Error {}

/** Deno's file calls by Node's. */
const files: Parameters<typeof createFileSnapshotStore>[0] = {
  errors: { NotFound },
  readTextFile: (path) => readFile(path, 'utf8').catch(asDeno),
  rename,
  remove: (path) => rm(path).catch(asDeno),
  async open(path, { mode }) {
    const handle = await open(path, 'wx', mode);
    return {
      // A short write, as any write may be.
      write: async (bytes) => (await handle.write(bytes.subarray(0, 3))).bytesWritten,
      sync: () => handle.sync(),
      close: () => void handle.close(),
    };
  },
};

function asDeno(error: NodeJS.ErrnoException): never {
  throw error.code === 'ENOENT' ? new NotFound() : error;
}

test('nothing is stored at first, and what is saved is found again, whole', async (context) => {
  const directory = await temporaryDirectory(context);
  const store = createFileSnapshotStore(files, join(directory, 'snapshot'));
  assert.equal(await store.load(), undefined);
  await store.save({ snapshot: 'a.b.c' });
  await store.save({ snapshot: 'd.e.f', renewal: 'g.h.i' });
  assert.deepEqual(await store.load(), { snapshot: 'd.e.f', renewal: 'g.h.i' });
  assert.deepEqual(await readdir(directory), ['snapshot']);
  assert.equal((await stat(join(directory, 'snapshot'))).mode & 0o777, 0o600);
});

test('what a crashed writer left is replaced, and a link in its place is not followed', async (context) => {
  const directory = await temporaryDirectory(context);
  const path = join(directory, 'snapshot');
  const victim = join(directory, 'victim');
  await writeFile(victim, 'untouched');
  await symlink(victim, `${path}.new`);
  await createFileSnapshotStore(files, path).save({ snapshot: 'a.b.c' });
  assert.equal(await readFile(victim, 'utf8'), 'untouched');
  assert.equal(await readFile(path, 'utf8'), 'a.b.c\n');
});

test('a failed save leaves the old snapshot', async (context) => {
  const path = join(await temporaryDirectory(context), 'snapshot');
  await createFileSnapshotStore(files, path).save({ snapshot: 'a.b.c' });
  const full = { ...files, rename: () => Promise.reject(new Error('disk full')) };
  await assert.rejects(createFileSnapshotStore(full, path).save({ snapshot: 'd.e.f' }), /disk full/);
  assert.deepEqual(await createFileSnapshotStore(files, path).load(), { snapshot: 'a.b.c' });
});
