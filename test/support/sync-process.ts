import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { ExampleApiServer } from '../../scripts/example-api-server/index.ts';
import type { EmbeddedCluster } from '../../scripts/measure/embedded-cluster.ts';

const main = join(import.meta.dirname, '..', '..', 'src', 'cli', 'main.ts');

/** `mixed-version-proxy sync` as a process of its own. */
export interface SyncProcess {
  /** Everything it has written to standard error. */
  log(): string;
  /** Sends a signal. @returns its exit code; `null` when the signal ended it */
  end(signal: NodeJS.Signals): Promise<number | null>;
  /** Waits until it ends by itself. */
  ended(): Promise<number | null>;
}

export interface SyncProcessOptions {
  readonly servers: readonly ExampleApiServer[];
  readonly flags: readonly string[];
  /** A shell command that the process is started behind, such as `ulimit -f 8`. */
  readonly shellPrelude?: string;
}

/** Starts it with the cluster's credentials; killed, if it still runs, when the test is over. */
export function startSyncProcess(
  context: TestContext,
  { certificates, keyFiles }: EmbeddedCluster,
  { servers, flags, shellPrelude }: SyncProcessOptions,
): SyncProcess {
  const args = [
    main,
    'sync',
    ...servers.flatMap(({ serverId, url }) => ['--server', `${serverId}=${url}`]),
    ...['--peer-ca-file', certificates.clusterCa],
    ...['--client-cert-file', certificates.sync.certificate],
    ...['--client-key-file', certificates.sync.privateKey],
    ...['--signing-key', keyFiles.signingKey],
    ...flags,
  ];
  const child =
    shellPrelude === undefined
      ? spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] })
      : spawn('/bin/sh', ['-c', `${shellPrelude}; exec "$0" "$@"`, process.execPath, ...args], {
          stdio: ['ignore', 'ignore', 'pipe'],
        });
  let log = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    log += chunk.toString();
  });
  const exited = once(child, 'close').then(([code]) => code as number | null);
  context.after(() => {
    if (isRunning(child)) child.kill('SIGKILL');
    return exited;
  });
  return {
    log: () => log,
    end(signal) {
      child.kill(signal);
      return exited;
    },
    ended: () => exited,
  };
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}
