import { join } from 'node:path';
import { serveFlags } from '../../scripts/demo/routers.ts';
import { silentLogger } from '../../src/observe/logger.ts';
import type { LiveCertificates } from './certificates.ts';
import { freePort } from './free-port.ts';
import type { KubeApiServer } from './kube-apiserver.ts';
import { endOfLog, type LoggedProcess, startLoggedProcess } from './logged-process.ts';
import { waitUntil } from './wait-until.ts';

const main = join(import.meta.dirname, '..', '..', 'src', 'cli', 'main.ts');

/** `mixed-version-proxy serve`, as a process of its own. */
export interface LiveRouter {
  readonly name: string;
  readonly origin: string;
  readonly port: number;
  readonly process: LoggedProcess;
}

export interface LiveRouterOptions {
  readonly certificates: LiveCertificates;
  /** Public keys of the sync job. */
  readonly snapshotKeys: string;
  readonly directory: string;
}

/** A router in front of one API server. */
export function startSidecar(apiServer: KubeApiServer, options: LiveRouterOptions): Promise<LiveRouter> {
  return startRouter(`router-${apiServer.name}`, apiServer, options, {});
}

/** A router in front of all of them. */
export function startGateway(options: LiveRouterOptions): Promise<LiveRouter> {
  const nobody = { serverId: '', url: '' };
  return startRouter('gateway', nobody, options, {
    gateway: ['true'],
    'server-id': undefined,
    'local-server': undefined,
  });
}

async function startRouter(
  name: string,
  apiServer: Pick<KubeApiServer, 'serverId' | 'url'>,
  { certificates, snapshotKeys, directory }: LiveRouterOptions,
  changes: Readonly<Record<string, readonly string[] | undefined>>,
): Promise<LiveRouter> {
  const port = await freePort('127.0.0.1');
  const flags: Readonly<Record<string, readonly string[] | undefined>> = {
    ...serveFlags({
      apiServer,
      certificates,
      snapshotKeys,
      snapshotFile: join(directory, `${name}.snapshot`),
      logger: silentLogger,
    }),
    'secure-port': [`${port}`],
    ...changes,
  };
  const process = await startLoggedProcess({
    name,
    command: globalThis.process.execPath,
    args: [
      main,
      'serve',
      '--v=2',
      ...Object.entries(flags).flatMap(([flag, values]) =>
        (values ?? []).map((value) => `--${flag}=${value}`),
      ),
    ],
    logFile: join(directory, `${name}.log`),
  });
  const origin = `https://127.0.0.1:${port}`;
  await waitUntil(`${name} listens`, () => {
    if (!process.isRunning()) throw new Error(endOfLog(process));
    return process.log().includes(origin);
  });
  return { name, origin, port, process };
}
