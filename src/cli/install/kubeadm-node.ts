import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { messageOf } from '../terminal/command-context.ts';
import type { FileChange } from './file-change.ts';
import { InstallationRefused } from './kubeadm-plan.ts';
import { readerName } from './reader-rights.ts';

/** What an installation touches of the machine that it runs on. */
export interface KubeadmNode {
  /** `undefined`: there is no such file. @throws {InstallationRefused} when it cannot be read */
  read(path: string): Promise<string | undefined>;
  /** At once, whole: the kubelet never sees half of a file. @throws {InstallationRefused} */
  write(change: Pick<FileChange, 'path' | 'after' | 'mode'>): Promise<void>;
  /** Removes what a write of it has left that was cut off. @throws {InstallationRefused} */
  tidy(path: string): Promise<void>;
  /** Whether something listens on a TCP port. */
  isTaken(port: number): Promise<boolean>;
  /** A kubeconfig for the routers' user, with a certificate of the cluster's CA. @throws {InstallationRefused} */
  makeKubeconfig(clusterConfiguration: string): Promise<string>;
}

export interface KubeadmNodeOptions {
  /** Stands before every path: a mounted node, or a test's. Default: none. */
  readonly root?: string;
  /** Default: `kubeadm` on the PATH. */
  readonly kubeadm?: string;
}

export function kubeadmNode({ root = '', kubeadm = 'kubeadm' }: KubeadmNodeOptions = {}): KubeadmNode {
  const at = (path: string) => `${root}${path}`;
  return {
    async read(path) {
      try {
        return await readFile(at(path), 'utf8');
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw new InstallationRefused(`${path} cannot be read: ${reasonOf(error)}`, { cause: error });
      }
    },
    async write({ path, after, mode }) {
      try {
        if (after === undefined) await rm(at(path), { force: true });
        else await replace(at(path), after, mode);
      } catch (cause) {
        throw new InstallationRefused(`${path} cannot be written: ${reasonOf(cause)}`, { cause });
      }
    },
    async tidy(path) {
      try {
        await rm(temporaryOf(at(path)), { force: true });
      } catch (cause) {
        throw new InstallationRefused(`${path}: ${reasonOf(cause)}`, { cause });
      }
    },
    isTaken: (port) =>
      new Promise((resolve) => {
        const server = createServer();
        server.once('error', () => resolve(true));
        server.listen({ port, host: '::', exclusive: true }, () => server.close(() => resolve(false)));
      }),
    makeKubeconfig: (clusterConfiguration) => kubeconfigBy(kubeadm, clusterConfiguration),
  };
}

/**
 * Where a file is written before it takes its place. With a dot first: the kubelet passes such files over
 * (pkg/kubelet/config/file_linux.go). The same each time, so that what a killed run has left is found by the next one.
 */
const temporaryOf = (path: string) => join(dirname(path), `.mixed-version-proxy-${basename(path)}`);

async function replace(path: string, text: string, mode: number): Promise<void> {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true, mode: mode === 0o600 ? 0o700 : 0o755 });
  const present = await stat(path).catch(() => undefined);
  const temporary = temporaryOf(path);
  await rm(temporary, { force: true });
  await writeFile(temporary, text, { mode: 0o600, flag: 'wx', flush: true });
  await chmod(temporary, present === undefined ? mode : present.mode & 0o777);
  await rename(temporary, path);
}

async function kubeconfigBy(kubeadm: string, clusterConfiguration: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'mixed-version-proxy-'));
  try {
    const config = join(folder, 'kubeadm.yaml');
    await writeFile(config, clusterConfiguration);
    const { stdout } = await promisify(execFile)(kubeadm, [
      'kubeconfig',
      'user',
      `--client-name=${readerName}`,
      '--validity-period=8760h',
      `--config=${config}`,
    ]);
    return stdout;
  } catch (cause) {
    const said = cause instanceof Error && 'stderr' in cause ? String(cause.stderr) : '';
    // Warnings of klog come first; kubeadm of some versions writes `error:` before what it ends with, and of some nothing.
    const [reason] = said.split('\n').filter((line) => line !== '' && !/^[IW]\d{4} /.test(line));
    throw new InstallationRefused(
      `kubeadm cannot make a client certificate: ${reason ?? messageOf(cause).split('\n')[0]}. Where the CA key is not on the node, make the kubeconfig of the user ${readerName} elsewhere, put it at /etc/mixed-version-proxy/sync.kubeconfig, and install again`,
      { cause },
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function reasonOf(error: unknown): string {
  const isDenied = error instanceof Error && 'code' in error && error.code === 'EACCES';
  return isDenied ? `${error.message}: run it as root` : messageOf(error);
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
