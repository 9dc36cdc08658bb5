import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { replaceFile } from '../../node/files/write-whole-file.ts';
import { errorCode, errorMessage, fileErrorMessage } from '../../runtime/errors.ts';
import { monotonicNow, pause } from '../../runtime/time.ts';
import type { ReadTextFile } from '../settings/read-settings.ts';
import type { FileChange } from './file-change.ts';
import { readerName } from './reader-rights.ts';

/** An obstacle to the installation. The message tells what to do. */
export class InstallationRefused extends Error {
  override readonly name = 'InstallationRefused';
}

/** Value that a manifest is read to; one that is of no use is a refusal with its path. */
export function orRefuse<Value>(path: string, read: () => Value): Value {
  try {
    return read();
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw new InstallationRefused(`${path} ${cause.message}`, { cause });
  }
}

/** Milliseconds of a clock that only rises. */
export interface SteadyClock {
  now(): number;
  sleep(milliseconds: number): Promise<void>;
}

export interface KubeadmNode {
  readonly clock: SteadyClock;
  /** `undefined`: there is no such file. @throws {InstallationRefused} when it cannot be read */
  read(path: string): Promise<string | undefined>;
  /** Atomic: no reader sees half of a file. @throws {InstallationRefused} */
  write(change: WrittenFile): Promise<void>;
  /** Keeps a copy of what is about to be replaced, under the time of its run. @returns its path @throws {InstallationRefused} */
  keep(path: string, text: string, run: Date): Promise<string>;
  /**
   * One run at a time on a node: the kernel keeps this lock, and frees it when the process ends, however it does.
   * @returns what frees it @throws {InstallationRefused} while another run has it
   */
  lock(): Promise<() => Promise<void>>;
  /** Removes the temporary file of an interrupted write. @throws {InstallationRefused} */
  tidy(path: string): Promise<void>;
  isTaken(port: number): Promise<boolean>;
  readonly readNow: ReadTextFile;
  /** A kubeconfig for the routers' user, with a certificate of the cluster's CA. @throws {InstallationRefused} */
  makeKubeconfig(clusterConfiguration: string): Promise<string>;
}

/** A file with `isSecret` never has a wider mode than is asked for, whatever the file had that it replaces. */
type WrittenFile = Pick<FileChange, 'path' | 'after' | 'mode' | 'isSecret'>;

interface KubeadmNodeOptions {
  /** Stands before every path: a mounted node, or a test's. Default: none. */
  readonly root?: string;
  readonly kubeadm?: string;
  readonly clock?: SteadyClock;
}

const ownClock: SteadyClock = { now: monotonicNow, sleep: pause };

export function kubeadmNode({
  root = '',
  kubeadm = 'kubeadm',
  clock = ownClock,
}: KubeadmNodeOptions = {}): KubeadmNode {
  const at = (path: string) => `${root}${path}`;
  return {
    clock,
    async read(path) {
      try {
        return await readFile(at(path), 'utf8');
      } catch (error) {
        if (errorCode(error) === 'ENOENT') return undefined;
        throw new InstallationRefused(`${path} cannot be read: ${reasonOf(error)}`, { cause: error });
      }
    },
    async write({ path, after, mode, isSecret = false }) {
      try {
        if (after === undefined) await rm(at(path), { force: true });
        else await replace(at(path), after, mode, isSecret);
      } catch (cause) {
        throw new InstallationRefused(`${path} cannot be written: ${reasonOf(cause)}`, { cause });
      }
    },
    async keep(path, text, run) {
      const copy = `${backupPrefix}${run.toISOString().replaceAll(':', '-')}${path}`;
      try {
        await mkdir(dirname(at(copy)), { recursive: true, mode: 0o700 });
        await replaceFile(at(copy), temporaryOf(at(copy)), text, 0o600);
      } catch (cause) {
        throw new InstallationRefused(`${copy} cannot be written: ${reasonOf(cause)}`, { cause });
      }
      return copy;
    },
    lock: () => lockNode(root),
    async tidy(path) {
      try {
        await rm(temporaryOf(at(path)), { force: true });
      } catch (cause) {
        throw new InstallationRefused(`${path}: ${reasonOf(cause)}`, { cause });
      }
    },
    readNow: (path) => readFileSync(at(path), 'utf8'),
    makeKubeconfig: (clusterConfiguration) => kubeconfigBy(kubeadm, clusterConfiguration),
    isTaken: (port) =>
      new Promise((resolve) => {
        const server = createServer();
        server.once('error', () => resolve(true));
        // Without a host: where there is no IPv6, listening on :: would fail, and every port seem taken.
        server.listen({ port, exclusive: true }, () => server.close(() => resolve(false)));
      }),
  };
}

/** Where copies of what is replaced stay, each run's in a folder of its own: they may hold keys. */
export const backupPrefix = '/var/lib/mixed-version-proxy-install/backup-';

/**
 * A socket in the abstract namespace (unix(7)) is one name for one process, and gone with it: a lock file would outlive a run
 * that is killed.
 */
function lockNode(root: string): Promise<() => Promise<void>> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', (cause) => {
      const isTaken = errorCode(cause) === 'EADDRINUSE';
      const message = isTaken
        ? 'another install kubeadm runs on this node: wait until it ends'
        : `this node cannot be locked: ${errorMessage(cause)}`;
      reject(new InstallationRefused(message, { cause }));
    });
    server.listen({ path: `\0mixed-version-proxy-install:${root}` }, () =>
      resolve(() => new Promise((closed) => server.close(() => closed()))),
    );
  });
}

/**
 * Where a file is written before it takes its place. With a dot first: the kubelet passes such files over
 * (pkg/kubelet/config/file_linux.go). The same each time, so that what a killed run has left is found by the next one.
 */
const temporaryOf = (path: string) => join(dirname(path), `.mixed-version-proxy-${basename(path)}`);

/** One that is there keeps its owner, and its mode where that may be. */
async function replace(name: string, text: string, mode: number, isSecret: boolean): Promise<void> {
  // Somebody who links it to a file of theirs manages that file.
  const path = await realpath(name).catch(() => name);
  const folder = dirname(path);
  const folderMode = mode === 0o600 ? 0o700 : 0o755;
  const made = await mkdir(folder, { recursive: true, mode: folderMode });
  // Whatever the umask is: the router does not run as root everywhere, and has to come in.
  if (made !== undefined) await chmod(folder, folderMode);
  const present = await stat(path).catch(() => undefined);
  const temporary = temporaryOf(path);
  await rm(temporary, { force: true });
  const owner = present && { user: present.uid, group: present.gid };
  const kept = present === undefined ? mode : present.mode & 0o777;
  await replaceFile(path, temporary, text, isSecret ? kept & mode : kept, owner);
}

function reasonOf(error: unknown): string {
  const isDenied = errorCode(error) === 'EACCES';
  return isDenied ? `${fileErrorMessage(error)}: run it as root` : fileErrorMessage(error);
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
      `kubeadm cannot make a client certificate: ${reason ?? errorMessage(cause).split('\n')[0]}. Where the CA key is not on the node, make the kubeconfig of the user ${readerName} elsewhere, put it at /etc/mixed-version-proxy/reader.kubeconfig, and install again`,
      { cause },
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
