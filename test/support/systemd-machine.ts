import { chmod, mkdir, readdir, readFile, readlink, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { TestContext } from 'node:test';
import { type SystemdHostOptions, systemdHost } from '../../src/cli/install/systemd-host.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const commands = resolve(import.meta.dirname, 'systemd-commands.ts');

/** A machine in a folder, whose systemctl really starts what a unit says. Its service ends with the test. */
export async function systemdMachine(context: TestContext) {
  let stop: () => Promise<unknown> = async () => {};
  // Before the folder goes, which the stand-in for systemctl is in.
  context.after(() => stop());
  const folder = await temporaryDirectory(context);
  const [root, bin, state] = [join(folder, 'root'), join(folder, 'bin'), join(folder, 'state')];
  for (const path of [join(root, 'etc/systemd/system'), join(root, 'run/systemd/system'), bin, state]) {
    await mkdir(path, { recursive: true });
  }
  await mkdir(join(root, 'var/lib'), { recursive: true });
  for (const name of ['systemctl', 'journalctl', 'getent', 'useradd', 'userdel']) {
    const path = join(bin, name);
    await writeFile(path, `#!/bin/sh\nexec ${process.execPath} ${commands} ${folder} ${name} "$@"\n`);
    await chmod(path, 0o755);
  }
  const path = `${bin}:${dirname(process.execPath)}:${process.env['PATH']}`;
  const host = (options: SystemdHostOptions = {}) => systemdHost({ root, path, isRoot: true, ...options });
  stop = () => host().run('systemctl', 'stop', 'mixed-version-proxy.service');
  const keep = (name: string, text: string) => writeFile(join(state, name), text);
  return {
    root,
    host,
    /** Has systemd keep a text: `failing` is a verb of systemctl that fails, `foreign` a unit that it has from elsewhere. */
    keep,
    kept: (name: string) => readFile(join(state, name), 'utf8').catch(() => undefined),
    write: async (path: string, text: string, mode = 0o644): Promise<void> => {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), text, { mode });
    },
    tree: () => treeOf(root),
  };
}

/** Every folder, link and file with its mode and content, by path. */
async function treeOf(root: string): Promise<Record<string, string>> {
  const tree: Record<string, string> = {};
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(root.length);
    // The service's own, which it writes while it runs.
    if (name.startsWith('/var/lib/mixed-version-proxy/')) continue;
    if (entry.isSymbolicLink()) tree[name] = `-> ${await readlink(path)}`;
    else {
      const mode = ((await stat(path)).mode & 0o777).toString(8);
      tree[name] = entry.isFile() ? `${mode}\n${await readFile(path, 'utf8')}` : mode;
    }
  }
  return tree;
}
