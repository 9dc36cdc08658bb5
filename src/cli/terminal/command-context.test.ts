import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { processContext, readInputFile, readTextFile } from './command-context.ts';

let directory: string;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'read-text-file-'));
});
after(() => rm(directory, { recursive: true, force: true }));

describe('a file that a flag names', () => {
  it('is read as UTF-8, also where the system does not say how long it is', async () => {
    const file = join(directory, 'text');
    await writeFile(file, 'größe\n');
    assert.equal(readTextFile(file), 'größe\n');
    assert.match(readTextFile('/proc/self/status'), /^Name:/);
  });

  it('is refused when it is longer than the limit, without being read whole', async () => {
    const file = join(directory, 'long');
    await writeFile(file, 'x'.repeat(101));
    assert.throws(() => readTextFile(file, 100), /longer than 100 bytes/);
    assert.equal(readTextFile(file, 101).length, 101);
    assert.throws(() => readTextFile('/dev/zero', 100_000), /longer than 100000 bytes/);
  });

  it('is named once in the error when it cannot be read', () => {
    const file = join(directory, 'none');
    assert.throws(() => readInputFile(processContext(), '--config', file), {
      message: `--config: cannot read ${file}: ENOENT: no such file or directory`,
    });
  });

  it('is refused when it is a directory or not there', () => {
    assert.throws(() => readTextFile(directory), /EISDIR/);
    assert.throws(() => readTextFile(join(directory, 'none')), /ENOENT/);
  });
});
