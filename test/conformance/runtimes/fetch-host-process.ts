import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startEdgeProcess } from '../../../demo/edge/edge-process.ts';
import { findRuntimeFile, runtimeFile } from '../../../scripts/runtimes/index.ts';
import type { Cluster } from '../cluster.ts';
import { clientTls, clusterAuthority, serverPair } from '../credentials.ts';
import type { ConformanceRuntime, RunningRuntime } from '../runtime.ts';
import { edgeEnvironment } from './edge-environment.ts';
import { startEdgeRuntime } from './edge-process.ts';
import type { FetchHostSettings } from './fetch-host-settings.ts';

interface FetchHostRuntime {
  /** The module that is the runtime's binary. */
  readonly binary: string;
  /** Arguments of the binary, before the script and its own. @param directory all that it may read and write */
  readonly args: (directory: string) => readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** How `fetch-host.ts` runs on Deno or Bun: the Worker's fetch handler, with signed assertions towards the servers. */
export function fetchHost({
  binary,
  args,
  env,
}: FetchHostRuntime): Pick<ConformanceRuntime, 'missing' | 'start'> {
  return {
    missing: () =>
      findRuntimeFile(binary) === undefined ? `${binary} is missing: npm run check, on Linux x64` : undefined,
    start: (cluster: Cluster): Promise<RunningRuntime> =>
      startEdgeRuntime(async (directory) => {
        const hostSettings: FetchHostSettings = {
          environment: edgeEnvironment(cluster, 'assertion'),
          serving: { cert: serverPair.chain, key: serverPair.privateKey },
          destinationAuthorities: clusterAuthority.certificate,
        };
        const path = join(directory, 'settings.json');
        const authorities = join(directory, 'ca.crt');
        await writeFile(authorities, clusterAuthority.certificate);
        await writeFile(path, JSON.stringify(hostSettings), { mode: 0o600 });
        return startEdgeProcess({
          command: runtimeFile(binary),
          args: [...args(directory), join(import.meta.dirname, 'fetch-host.ts'), path],
          directory,
          // The keys of token issuers are fetched from whom the runtime trusts.
          env: {
            HOME: directory,
            NODE_EXTRA_CA_CERTS: authorities,
            DENO_CERT: authorities,
            NO_COLOR: '1',
            ...env,
          },
        });
      }, clientTls),
  };
}
