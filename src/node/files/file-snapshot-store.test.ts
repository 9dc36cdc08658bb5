import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import { createFileSnapshotStore } from './file-snapshot-store.ts';

const writer = fileURLToPath(new URL('../../../test/support/snapshots/snapshot-writer.ts', import.meta.url));

test('what is saved is loaded again', async (context) => {
  const path = join(await temporaryDirectory(context), 'snapshot');
  const store = createFileSnapshotStore(path);
  assert.equal(await store.load(), undefined);
  for (const stored of ['a.b.c\n{}', 'g.h.i']) {
    await store.save(stored);
    assert.deepEqual(await createFileSnapshotStore(path).load(), stored);
  }
});

test('the file is readable by its owner alone, and nothing is left beside it', async (context) => {
  const directory = await temporaryDirectory(context);
  const store = createFileSnapshotStore(join(directory, 'snapshot'));
  await store.save('a.b.c');
  assert.equal((await stat(join(directory, 'snapshot'))).mode & 0o777, 0o600);
  assert.deepEqual(await readdir(directory), ['snapshot']);
});

test('what a crashed writer left is cleared away, and nothing else', async (context) => {
  const directory = await temporaryDirectory(context);
  for (const name of [
    '.snapshot.0123456789abcdef.tmp',
    '.other.0123456789abcdef.tmp',
    'snapshot.tmp',
    'snapshot',
  ]) {
    await writeFile(join(directory, name), 'a.b.c\n');
  }
  assert.deepEqual(await createFileSnapshotStore(join(directory, 'snapshot')).load(), 'a.b.c');
  assert.deepEqual((await readdir(directory)).sort(), [
    '.other.0123456789abcdef.tmp',
    'snapshot',
    'snapshot.tmp',
  ]);
});

test('saves that are asked for together are made in order', async (context) => {
  const path = join(await temporaryDirectory(context), 'snapshot');
  const store = createFileSnapshotStore(path);
  await Promise.all([3_000_000, 10, 20].map((length) => store.save('x'.repeat(length))));
  assert.equal((await store.load())?.length, 20);
});

test('a save that fails is rejected, leaves the old file and no other, and the next one works', async (context) => {
  const directory = await temporaryDirectory(context);
  const path = join(directory, 'snapshot');
  const store = createFileSnapshotStore(path);
  await mkdir(path);
  await writeFile(join(path, 'occupied'), '');
  // A directory stands where the file should: the rename fails, after everything has been written.
  await assert.rejects(store.save('a.b.c'), { code: /EISDIR|ENOTEMPTY|EEXIST/ });
  assert.deepEqual(await readdir(directory), ['snapshot']);
  assert.deepEqual(await readdir(path), ['occupied']);
  await rm(path, { recursive: true });
  await store.save('d.e.f');
  assert.deepEqual(await store.load(), 'd.e.f');
});

test('a place that cannot be written or read is an error, not an empty store', async (context) => {
  const directory = await temporaryDirectory(context);
  await writeFile(join(directory, 'file'), '');
  const store = createFileSnapshotStore(join(directory, 'file', 'snapshot'));
  await assert.rejects(store.save('a.b.c'), { code: 'ENOTDIR' });
  await assert.rejects(store.load(), { code: 'ENOTDIR' });
  const missing = createFileSnapshotStore(join(directory, 'missing', 'snapshot'));
  await assert.rejects(missing.save('a.b.c'), { code: 'ENOENT' });
});

test('when there is no room for the whole of the new snapshot, the old one still stands', async (context) => {
  const directory = await temporaryDirectory(context);
  const path = join(directory, 'snapshot');
  const store = createFileSnapshotStore(path);
  await store.save('a.b.c');
  // Like a disk that fills up on the way: the writer's megabyte ends in EFBIG after some hundred kilobytes.
  const limited = 'trap "" XFSZ; ulimit -f 200; exec "$0" "$@"';
  const child = spawn('sh', ['-c', limited, process.execPath, writer, path], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const [code] = await once(child, 'close');
  assert.notEqual(code, 0);
  assert.match(errors, /EFBIG/);
  assert.deepEqual(await readdir(directory), ['snapshot']);
  assert.deepEqual(await store.load(), 'a.b.c');
});

test('a file that is larger than any snapshot is not read', async (context) => {
  const path = join(await temporaryDirectory(context), 'snapshot');
  await writeFile(path, 'x'.repeat(12_000_000));
  await assert.rejects(createFileSnapshotStore(path).load(), /is larger than/);
});

test('a writer that is killed at any moment leaves one whole snapshot, the last one it reported or a later one', async (context) => {
  const directory = await temporaryDirectory(context);
  const path = join(directory, 'snapshot');
  const random = seededRandom(20_260_101);
  let last = 0;
  for (let round = 0; round < 30; round++) {
    const child = spawn(process.execPath, [writer, path, String(last + 1)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    await once(child.stdout, 'data');
    // Somewhere within the next few saves, each of which takes some milliseconds.
    await delay(random() * 20);
    child.kill('SIGKILL');
    await once(child, 'close');

    const reported = Math.max(...output.trim().split('\n').map(Number));
    const snapshot = (await createFileSnapshotStore(path).load()) ?? '';
    const number = Number(snapshot.slice(0, snapshot.indexOf('.')));
    assert.equal(snapshot, `${number}.${String.fromCharCode(97 + (number % 26)).repeat(1_000_000)}`);
    assert.ok(number >= reported, `round ${round}: ${number} is stored, ${reported} was reported as saved`);
    assert.deepEqual(await readdir(directory), ['snapshot']);
    last = number;
  }
});

test('no snapshot takes the place of a device or a pipe, as of /dev/null under a router that runs as root', async (context) => {
  const directory = await temporaryDirectory(context);
  const pipe = join(directory, 'pipe');
  execFileSync('mkfifo', [pipe]);
  await symlink('/dev/null', join(directory, 'null'));
  for (const path of [pipe, join(directory, 'null')]) {
    await assert.rejects(createFileSnapshotStore(path).save('a.b.c'), /not a regular file/);
  }
  assert.equal((await stat(pipe)).isFIFO(), true);
  assert.deepEqual((await readdir(directory)).sort(), ['null', 'pipe']);
});
