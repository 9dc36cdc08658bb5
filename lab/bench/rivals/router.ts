import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { frontProxyName } from '../../../demo/certificates.ts';
import { packagedServe } from '../../harness/packaged-command.ts';
import { benchSnapshot, localServer } from './bench-snapshot.ts';
import type { Contender, ContenderName } from './contender.ts';
import { writeSnapshotFiles } from './snapshot-files.ts';

const root = join(import.meta.dirname, '..', '..', '..');

/** This project's router, of this tree. */
export const router = routerIn(root, 'router', 'Mixed Version Proxy');

/**
 * The router of a tree as an operator starts it: the packaged `serve` command, with everything on that is on by default.
 * @param tree directory of `package.json`
 */
export function routerIn(tree: string, name: ContenderName, title: string): Contender {
  return {
    name,
    title,
    async version() {
      const manifest = JSON.parse(await readFile(join(tree, 'package.json'), 'utf8')) as { version: string };
      return `${manifest.version}, Node ${process.versions.node}`;
    },
    async command({ workbench, directory, port, servers }) {
      const { certificates } = workbench;
      const files = await writeSnapshotFiles(directory, await benchSnapshot(servers));
      return {
        executable: process.execPath,
        arguments: [
          ...(await packagedServe(tree)),
          `--server-id=${localServer}`,
          `--local-server=https://127.0.0.1:${servers.local}`,
          '--bind-address=127.0.0.1',
          `--secure-port=${port}`,
          `--tls-cert-file=${certificates.router.certificate}`,
          `--tls-private-key-file=${certificates.router.privateKey}`,
          `--client-ca-file=${certificates.clusterCa}`,
          `--peer-ca-file=${certificates.clusterCa}`,
          `--proxy-client-cert-file=${certificates.frontProxyClient.certificate}`,
          `--proxy-client-key-file=${certificates.frontProxyClient.privateKey}`,
          `--requestheader-client-ca-file=${certificates.frontProxyCa}`,
          `--requestheader-allowed-names=${frontProxyName}`,
          `--snapshot-keys=${files.keys}`,
          `--snapshot-file=${files.snapshot}`,
          '--allow-loopback-peers=true',
        ],
      };
    },
  };
}
