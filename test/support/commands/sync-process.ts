import type { TestContext } from 'node:test';
import type { ExampleApiServer } from '../../../demo/example-api-server/index.ts';
import type { EmbeddedCluster } from '../clusters/embedded-cluster.ts';
import { type CommandProcess, startCommandProcess } from './command-process.ts';

interface SyncProcessOptions {
  readonly servers: readonly ExampleApiServer[];
  readonly flags: readonly string[];
  /** A shell command that the process is started behind, such as `ulimit -f 8`. */
  readonly shellPrelude?: string;
}

/** Starts `mixed-version-proxy sync` with the cluster's credentials; ends, if it still runs, with the test. */
export function startSyncProcess(
  context: TestContext,
  { certificates, keyFiles }: EmbeddedCluster,
  { servers, flags, shellPrelude }: SyncProcessOptions,
): CommandProcess {
  const args = [
    'sync',
    ...servers.flatMap(({ serverId, url }) => ['--server', `${serverId}=${url}`]),
    ...['--peer-ca-file', certificates.clusterCa],
    ...['--client-cert-file', certificates.sync.certificate],
    ...['--client-key-file', certificates.sync.privateKey],
    ...['--signing-key', keyFiles.signingKey],
    ...flags,
  ];
  return startCommandProcess(context, args, shellPrelude);
}
