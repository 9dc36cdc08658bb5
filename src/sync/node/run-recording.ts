import { openServers } from './open-servers.ts';
import { type RecordResult, recordCluster } from './record-cluster.ts';
import type { ReadingOptions } from './run-sync-options.ts';

/**
 * Records running servers into a folder. @throws as `recordCluster` does
 *
 * @example
 * ```ts
 * const { files } = await runRecording(
 *   { servers: [apiServer], certificateAuthorities, clientCertificate },
 *   join(folder, 'recording'),
 *   signal,
 * );
 * console.log(files > 0); // true
 * ```
 */
export async function runRecording(
  options: ReadingOptions,
  folder: string,
  signal: AbortSignal,
): Promise<RecordResult> {
  const { servers, close } = openServers(options);
  try {
    return await recordCluster({ servers, folder, signal });
  } finally {
    close();
  }
}
