import { join } from 'node:path';
import type { DemoCertificates } from '../../../demo/certificates.ts';
import { commandModule } from '../../harness/command.ts';
import type { ApiServer } from './api-server.ts';
import { type ManagedProcess, startProcess } from './managed-process.ts';
import type { Router } from './router.ts';

export interface SyncJobOptions {
  readonly servers: readonly ApiServer[];
  readonly routers: readonly Router[];
  readonly certificates: DemoCertificates;
  /** Path of the private JWK. */
  readonly signingKey: string;
  readonly directory: string;
}

/** `mixed-version-proxy sync` as a process. */
export class SyncJob {
  readonly #options: SyncJobOptions;
  #process: ManagedProcess | undefined;

  constructor(options: SyncJobOptions) {
    this.#options = options;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  start(): void {
    const { servers, routers, certificates, signingKey, directory } = this.#options;
    this.#process = startProcess({
      arguments: [
        commandModule,
        'sync',
        ...servers.map(({ serverId, url }) => `--server=${serverId}=${url}`),
        ...routers.map(({ url }) => `--target=${url}`),
        `--peer-ca-file=${certificates.clusterCa}`,
        `--client-cert-file=${certificates.sync.certificate}`,
        `--client-key-file=${certificates.sync.privateKey}`,
        `--signing-key=${signingKey}`,
        `--state-file=${join(directory, 'sync-state')}`,
        '--health-port=0',
        '--logging-format=json',
      ],
      logFile: join(directory, 'sync.log'),
    });
  }

  stop(): Promise<void> {
    return this.#process?.stop() ?? Promise.resolve();
  }

  kill(): Promise<void> {
    return this.#process?.kill() ?? Promise.resolve();
  }
}
