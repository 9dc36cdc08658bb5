import assert from 'node:assert/strict';
import { chmod, chown, mkdir, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { ownerForTests } from '../../../test/support/owner-for-tests.ts';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import { kubeadmNode } from './kubeadm-node.ts';

async function seen(path: string) {
  const { mode, uid, gid } = await stat(path);
  return { mode: mode & 0o777, user: uid, group: gid };
}

describe('a file of the host that is written', () => {
  it('keeps the mode and the owner that it has', async (context) => {
    const root = await temporaryDirectory(context);
    const owner = ownerForTests();
    await writeFile(join(root, 'a.yaml'), 'before');
    await chmod(join(root, 'a.yaml'), 0o660);
    await chown(join(root, 'a.yaml'), owner.user, owner.group);
    await kubeadmNode({ root }).write({ path: '/a.yaml', after: 'after', mode: 0o600 });
    assert.deepEqual(await seen(join(root, 'a.yaml')), { ...owner, mode: 0o660 });
    assert.deepEqual(await readdir(root), ['a.yaml']);
  });

  it('is not readable for more than it may be where it holds a key, whatever it had before', async (context) => {
    const root = await temporaryDirectory(context);
    await writeFile(join(root, 'key.yaml'), 'before');
    await chmod(join(root, 'key.yaml'), 0o644);
    await kubeadmNode({ root }).write({ path: '/key.yaml', after: 'after', mode: 0o600, isSecret: true });
    assert.equal((await seen(join(root, 'key.yaml'))).mode, 0o600);
  });

  it('has the mode that is asked for where there was none', async (context) => {
    const root = await temporaryDirectory(context);
    await kubeadmNode({ root }).write({ path: '/etc/a.yaml', after: 'a', mode: 0o640 });
    assert.equal((await seen(join(root, 'etc/a.yaml'))).mode, 0o640);
  });

  it('takes the place of what a killed run has left beside it, and leaves nothing when it fails', async (context) => {
    const root = await temporaryDirectory(context);
    await writeFile(join(root, '.mixed-version-proxy-a.yaml'), 'half');
    await mkdir(join(root, 'b.yaml'));
    await kubeadmNode({ root }).write({ path: '/a.yaml', after: 'a', mode: 0o600 });
    await assert.rejects(kubeadmNode({ root }).write({ path: '/b.yaml', after: 'b', mode: 0o600 }), {
      message: /^\/b\.yaml cannot be written: /,
    });
    assert.deepEqual((await readdir(root)).sort(), ['a.yaml', 'b.yaml']);
  });

  it('never takes the place of a device', async (context) => {
    const root = await temporaryDirectory(context);
    await symlink('/dev/null', join(root, 'null'));
    await assert.rejects(kubeadmNode({ root }).write({ path: '/null', after: 'a', mode: 0o600 }), {
      message: /cannot be written: .*not a regular file/,
    });
    assert.equal((await stat(join(root, 'null'))).isCharacterDevice(), true);
  });
});
