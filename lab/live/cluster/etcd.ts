import { join } from 'node:path';
import { freePort } from '../../../test/support/free-port.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { endOfLog, type LoggedProcess, startLoggedProcess } from './logged-process.ts';

export interface Etcd {
  /** For `--etcd-servers`. */
  readonly url: string;
  readonly process: LoggedProcess;
}

/** Starts a single etcd, with its data in `directory`. */
export async function startEtcd(path: string, directory: string, address = '127.0.0.1'): Promise<Etcd> {
  const url = `http://${address}:${await freePort(address)}`;
  const peerUrl = `http://${address}:${await freePort(address)}`;
  const process = await startLoggedProcess({
    name: 'etcd',
    command: path,
    args: [
      `--data-dir=${join(directory, 'etcd')}`,
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      `--listen-peer-urls=${peerUrl}`,
    ],
    logFile: join(directory, 'etcd.log'),
  });
  await waitUntil('etcd is healthy', async () => {
    if (!process.isRunning()) throw new Error(endOfLog(process));
    return (await fetch(`${url}/health`)).ok;
  });
  return { url, process };
}
