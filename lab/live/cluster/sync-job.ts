import { join } from 'node:path';
import { commandModule } from '../../../test/support/commands/command.ts';
import type { LiveCertificates } from './certificates.ts';
import type { KubeApiServer } from './kube-apiserver.ts';
import { type LoggedProcess, startLoggedProcess } from './logged-process.ts';
import type { LiveRouter } from './routers.ts';

export interface SyncJobOptions {
  readonly certificates: LiveCertificates;
  readonly signingKey: string;
  /** Through which it watches Leases, APIServices and CustomResourceDefinitions. */
  readonly kubeconfig: string;
  /** Listed by hand; empty where it is to find them. */
  readonly servers: readonly KubeApiServer[];
  readonly routers: readonly LiveRouter[];
  readonly directory: string;
}

/** `mixed-version-proxy sync`, as a process of its own, with everything that may be left out left out. */
export function startSyncJob(options: SyncJobOptions): Promise<LoggedProcess> {
  const { certificates, servers, routers, directory } = options;
  return startLoggedProcess({
    name: 'sync',
    command: process.execPath,
    args: [
      commandModule,
      'sync',
      '--v=2',
      '--allow-loopback-peers',
      `--kubeconfig=${options.kubeconfig}`,
      ...servers.map(({ serverId, url }) => `--server=${serverId}=${url}`),
      ...routers.map(({ origin }) => `--target=${origin}`),
      `--target-ca-file=${certificates.clusterCa}`,
      `--client-cert-file=${certificates.sync.certificate}`,
      `--client-key-file=${certificates.sync.privateKey}`,
      `--signing-key=${options.signingKey}`,
      '--health-port=0',
    ],
    logFile: join(directory, 'sync.log'),
  });
}
