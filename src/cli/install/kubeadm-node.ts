import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { errorMessage } from '../../runtime/errors.ts';
import type { ReadTextFile } from '../settings/read-settings.ts';
import { type HostFiles, hostFiles } from './host-files.ts';
import { readerName } from './objects/reader-rights.ts';
import { InstallationRefused } from './wait-until.ts';

/** What an installation touches of the machine that it runs on. */
export interface KubeadmNode extends HostFiles {
  /** Throws when the file cannot be read. */
  readonly readNow: ReadTextFile;
  /** A kubeconfig for the routers' user, with a certificate of the cluster's CA. @throws {InstallationRefused} */
  makeKubeconfig(clusterConfiguration: string): Promise<string>;
}

interface KubeadmNodeOptions {
  /** Stands before every path: a mounted node, or a test's. Default: none. */
  readonly root?: string;
  /** Default: `kubeadm` on the PATH. */
  readonly kubeadm?: string;
}

export function kubeadmNode({ root = '', kubeadm = 'kubeadm' }: KubeadmNodeOptions = {}): KubeadmNode {
  return {
    ...hostFiles(root),
    readNow: (path) => readFileSync(`${root}${path}`, 'utf8'),
    makeKubeconfig: (clusterConfiguration) => kubeconfigBy(kubeadm, clusterConfiguration),
  };
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
