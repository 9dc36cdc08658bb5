import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { JWK } from 'jose';
import { runCommand } from '../../../test/support/commands/command-context.ts';
import { parseSnapshotKeys } from '../../snapshot/signing/keys.ts';
import { signingKeyOf } from '../../snapshot/signing/seal.ts';

describe('keygen', () => {
  let directory: string;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'keygen-'));
  });
  after(() => rm(directory, { recursive: true, force: true }));

  const privateKey = (): string => join(directory, 'keys', 'snapshot-signing-key.json');
  const publicKeys = (): string => join(directory, 'keys', 'snapshot-keys.json');
  const keygen = (...args: string[]) =>
    runCommand(new Map(), ['keygen', '--out', join(directory, 'keys'), ...args]);

  it('writes a private key for its owner only, and its public half for everyone', async () => {
    assert.equal((await keygen()).code, 0);
    assert.equal((await stat(privateKey())).mode & 0o777, 0o600);
    const jwk = JSON.parse(await readFile(privateKey(), 'utf8')) as JWK;
    assert.equal(signingKeyOf(jwk).alg, 'EdDSA');
    const text = await readFile(publicKeys(), 'utf8');
    const parsed = await parseSnapshotKeys(text);
    assert.ok(parsed.ok);
    assert.deepEqual([...parsed.keys.keys()], [jwk.kid]);
    assert.ok(!text.includes('"d"'));
  });

  it('says so where a file system takes no directory', async () => {
    const { code, errors } = await runCommand(new Map(), ['keygen', '--out', '/proc/1/x/y']);
    assert.equal(code, 1);
    assert.match(errors, /cannot write to \/proc\/1\/x\/y: /);
  });

  it('says so where a file is in the way of the directory', async () => {
    const { code, errors } = await runCommand(new Map(), ['keygen', '--out', import.meta.filename]);
    assert.equal(code, 2);
    assert.match(errors, /--out: .*keygen\.test\.ts is a file, or below one: name a directory/);
  });

  it('never overwrites a private key', async () => {
    const before = await readFile(privateKey(), 'utf8');
    const publicBefore = await readFile(publicKeys(), 'utf8');
    const { code, errors } = await keygen();
    assert.equal(code, 1);
    assert.match(errors, /never overwritten/);
    assert.equal(await readFile(privateKey(), 'utf8'), before);
    assert.equal(await readFile(publicKeys(), 'utf8'), publicBefore);
  });

  it('keeps the old public key beside the new one, for rotation', async () => {
    await rm(privateKey());
    assert.equal((await keygen('--algorithm', 'ES256')).code, 0);
    const parsed = await parseSnapshotKeys(await readFile(publicKeys(), 'utf8'));
    assert.ok(parsed.ok);
    assert.deepEqual(
      [...parsed.keys.values()].map(({ alg }) => alg),
      ['EdDSA', 'ES256'],
    );
  });

  it('writes nothing beside a file of public keys that it cannot read', async () => {
    await rm(privateKey());
    await chmod(publicKeys(), 0o644);
    await writeFile(publicKeys(), '{"keys":"none"}');
    assert.equal((await keygen()).code, 1);
    await assert.rejects(stat(privateKey()), { code: 'ENOENT' });
  });

  it('leaves no empty key behind when there is no room for it: the next run would not overwrite that', async () => {
    // Like a full disk: the first byte that is written ends in EFBIG.
    const full = 'trap "" XFSZ; ulimit -f 0; exec "$0" "$@"';
    const launcher = fileURLToPath(new URL('../main.ts', import.meta.url));
    const keys = join(directory, 'without-room');
    const args = ['-c', full, process.execPath, launcher, 'keygen', '--out', keys];
    const { status, stderr } = spawnSync('sh', args, { encoding: 'utf8' });
    assert.equal(status, 1);
    assert.match(stderr, /cannot write to .*without-room/);
    assert.deepEqual(await readdir(keys), []);
  });
});
