import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { takeDirectory } from '../../demo/demo-directory.ts';

describe('the directory of a demo', () => {
  let root: string;
  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'demo-directory-'));
  });
  after(() => rm(root, { recursive: true, force: true }));

  test('is made, and gone with the demo', async () => {
    const directory = join(root, 'new');
    const taken = await takeDirectory(directory);
    await writeFile(taken.path('kubeconfig'), 'x');
    await taken.remove();
    assert.equal(existsSync(directory), false);
  });

  test('is never one that holds somebody’s files, which stay as they are', async () => {
    await writeFile(join(root, 'mine.pem'), 'mine');
    await assert.rejects(
      takeDirectory(root),
      /holds other things: name an empty or a new one with --directory/,
    );
    assert.equal(await readFile(join(root, 'mine.pem'), 'utf8'), 'mine');
  });

  test('is refused at once where it cannot be made', async () => {
    await assert.rejects(
      takeDirectory('/proc/demo'),
      /--directory: \/proc\/demo cannot be made: no such file/,
    );
    await assert.rejects(takeDirectory(join(root, 'mine.pem', 'x')), /is a file, or below one/);
  });

  test('is not shared with a demo that still runs', async () => {
    const directory = join(root, 'taken');
    const taken = await takeDirectory(directory);
    await assert.rejects(
      takeDirectory(directory),
      new RegExp(`already runs in .* \\(process ${process.pid}\\)`),
    );
    await taken.remove();
  });

  test('is taken over from a demo that was killed, with nothing of it left', async () => {
    const directory = join(root, 'left');
    const taken = await takeDirectory(directory);
    await writeFile(taken.path('kubeconfig'), 'old');
    // No process has this ID: Linux ends at 4,194,304.
    await writeFile(taken.path('demo.pid'), '4999999\n');
    const next = await takeDirectory(directory);
    assert.equal(existsSync(next.path('kubeconfig')), false);
    await next.remove();
  });
});
