import { join } from 'node:path';
import type { DemoCertificates } from '../../../demo/certificates.ts';
import type { Child } from '../../harness/child-process.ts';
import { commandModule } from '../../harness/command.ts';
import type { ApiServer } from './api-server.ts';
import type { Router } from './router.ts';
import { startScript } from './start-script.ts';

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
  #process: Child | undefined;

  constructor(options: SyncJobOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { servers, routers, certificates, signingKey, directory } = this.#options;
    this.#process = await startScript({
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

  kill(): Promise<void> {
    return this.#process?.kill() ?? Promise.resolve();
  }
}
