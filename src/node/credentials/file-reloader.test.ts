import assert from 'node:assert/strict';
import { mkdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { recordingLogger } from '../../../test/support/recording-logger.ts';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import { type FileGroup, FileReloader, type WatchedFile } from './credential-watch.ts';

const noon = Date.UTC(2026, 0, 31, 12);

/** Files in memory, one group of two that must be equal, and what became of it. */
function setup(settle: (disk: Map<string, string>) => void = () => {}) {
  const disk = new Map([
    ['/one', 'a'],
    ['/two', 'a'],
  ]);
  const one: WatchedFile = { name: 'one-file', path: '/one', text: 'a' };
  const two: WatchedFile = { name: 'two-file', path: '/two', text: 'a' };
  const applied: string[] = [];
  const group: FileGroup = {
    name: 'the twins',
    files: [one, two],
    apply(textOf) {
      if (textOf(one) !== textOf(two)) throw new TypeError(`${textOf(one)} is not ${textOf(two)}`);
      applied.push(textOf(one));
    },
  };
  const { logger, lines } = recordingLogger();
  const reloader = new FileReloader({
    logger,
    clock: () => noon,
    read: async (path) => {
      const text = disk.get(path);
      if (text === undefined) throw new Error('ENOENT');
      return text;
    },
    settle: async () => settle(disk),
  });
  reloader.add(group);
  const state = () => reloader.states()[0];
  return { disk, applied, reloader, lines, group, state };
}

describe('watched files', () => {
  it('are left alone while they do not change', async () => {
    const { reloader, applied, lines, state } = setup();
    await reloader.check();
    assert.deepEqual(applied, []);
    assert.deepEqual(lines, []);
    assert.deepEqual(state()?.reloads, [undefined, undefined]);
  });

  it('are taken together when one of them changes', async () => {
    const { disk, reloader, applied, lines, state } = setup();
    disk.set('/one', 'b').set('/two', 'b');
    await reloader.check();
    await reloader.check();
    assert.deepEqual(applied, ['b']);
    assert.deepEqual(lines, [
      { level: 'info', fields: { files: ['/one', '/two'] }, message: 'Reloaded: the twins' },
    ]);
    assert.deepEqual(state()?.reloads, [noon, noon]);
    assert.deepEqual(state()?.texts, ['b', 'b']);
  });

  it('that are just being written are looked at once more before anything is said', async () => {
    const { disk, reloader, applied, lines } = setup((files) => files.set('/two', 'b'));
    disk.set('/one', 'b');
    await reloader.check();
    assert.deepEqual(applied, ['b']);
    assert.deepEqual(
      lines.map(({ level }) => level),
      ['info'],
    );
  });

  it('that are wrong keep the old in use; each error is said once', async () => {
    const { disk, reloader, applied, lines, state } = setup();
    disk.set('/one', 'b');
    await reloader.check();
    await reloader.check();
    disk.set('/one', 'c');
    await reloader.check();
    disk.delete('/two');
    await reloader.check();
    assert.deepEqual(applied, []);
    assert.deepEqual(
      lines.map(({ level, fields }) => [level, fields['error']]),
      [
        ['error', 'b is not a'],
        ['error', 'c is not a'],
        ['error', '--two-file: cannot read /two: ENOENT'],
      ],
    );
    assert.deepEqual(state()?.texts, ['a', 'a']);
    assert.equal(state()?.lastError, '--two-file: cannot read /two: ENOENT');
    assert.deepEqual(state()?.reloads, [undefined, undefined]);
  });

  it('are taken once they are right, and right again as they were', async () => {
    const { disk, reloader, applied, lines, state } = setup();
    disk.set('/one', 'b');
    await reloader.check();
    disk.set('/one', 'a');
    await reloader.check();
    assert.equal(state()?.lastError, undefined);
    assert.equal(lines.at(-1)?.message, 'As they were before again: the twins');
    disk.set('/one', 'c').set('/two', 'c');
    await reloader.check();
    assert.deepEqual(applied, ['c']);
  });

  it('of one group do not hold up those of another', async () => {
    const { disk, reloader } = setup();
    const applied: string[] = [];
    const other: WatchedFile = { name: 'other', path: '/other', text: 'x' };
    reloader.add({
      name: 'the other',
      files: [other],
      apply(textOf) {
        applied.push(textOf(other));
      },
    });
    disk.set('/one', 'b').set('/other', 'y');
    await reloader.check();
    assert.deepEqual(applied, ['y']);
  });

  it('are looked at by one at a time, however often it is asked for', async () => {
    const { disk, reloader, applied } = setup();
    disk.set('/one', 'b').set('/two', 'b');
    await Promise.all([reloader.check(), reloader.check(), reloader.check()]);
    assert.deepEqual(applied, ['b']);
  });

  it('are looked at again and again', async () => {
    const { disk, reloader, applied } = setup();
    let looks = 0;
    reloader.start(1, () => looks++);
    await eventually(() => looks > 1);
    disk.set('/one', 'b').set('/two', 'b');
    await eventually(() => applied.length > 0);
    reloader.stop();
    assert.deepEqual(applied, ['b']);
  });
});

it('a Secret as Kubernetes mounts it, a swapped symbolic link, is seen to change', async (context) => {
  const directory = await temporaryDirectory(context);
  const path = join(directory, 'tls.crt');
  const publish = async (version: string, text: string): Promise<void> => {
    await mkdir(join(directory, version));
    await writeFile(join(directory, version, 'tls.crt'), text);
    await symlink(version, join(directory, '..data_tmp'));
    await rename(join(directory, '..data_tmp'), join(directory, '..data'));
  };
  await publish('..1', 'old');
  await symlink(join('..data', 'tls.crt'), path);
  const file: WatchedFile = { name: 'tls-cert-file', path, text: await readFile(path, 'utf8') };
  const applied: string[] = [];
  const reloader = new FileReloader({ logger: recordingLogger().logger });
  reloader.add({
    name: 'the certificate',
    files: [file],
    apply(textOf) {
      applied.push(textOf(file));
    },
  });
  await reloader.check();
  await publish('..2', 'new');
  await reloader.check();
  assert.deepEqual(applied, ['new']);
});
