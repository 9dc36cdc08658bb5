import { hostname } from 'node:os';
import type { EmbeddedSyncConfig, ServeConfig } from '../../node/configuration/serve-config.ts';
import { isLocalServerAddress } from '../../node/process/local-server-id.ts';
import { errorMessage } from '../../runtime/errors.ts';
import { type FoundServerId, localApiServer } from '../../sync/node/find-server-id.ts';
import { ReadError } from '../../sync/server-documents.ts';
import type { GivenValues, SettingIssue } from '../settings/read-settings.ts';
import { readsForOneServer } from './found-settings.ts';

/** How the ID is waited for while the cluster does not tell it. */
export interface WaitForServerId {
  /**
   * Waits before the next attempt.
   * @param reason why the last one has failed
   * @param config checked, but for the ID
   * @throws when the wait is over without an ID
   */
  beforeRetry(reason: string, config: ServeConfig): Promise<void>;
  /** Aborts when it is over: then the attempt under way is, too. */
  readonly ending: AbortSignal;
}

/** Whether the cluster is to tell it: a router that reads the cluster, in front of one server that is not named by a flag. */
export function canFindServerId(given: GivenValues): boolean {
  return readsForOneServer(given) && !given.has('server-id');
}

/** In the place of the ID while the rest of a configuration is checked. */
export const serverIdToBeFound = 'not-known-yet';

/**
 * Asks the cluster for the ID of the API server on this host.
 * @param config checked, but for that ID
 * @param wait `undefined`: one attempt, and an error when it fails
 */
export async function findOwnServerId(
  config: ServeConfig,
  wait: WaitForServerId | undefined,
): Promise<FoundServerId | SettingIssue> {
  const { embeddedSync, local, peerCa } = config;
  if (embeddedSync === undefined || local === undefined) throw new TypeError('There is no cluster to ask.');
  const { access } = embeddedSync;
  const { findServerId } = await import('../../sync/node/find-server-id.ts');
  for (;;) {
    try {
      return await findServerId({
        access:
          'kubeconfig' in access
            ? { kubeconfig: access.kubeconfig.path, text: access.kubeconfig.text, context: access.context }
            : access,
        local: localApiServer(local, peerCa),
        hostname: hostname(),
        isLocal: isLocalServerAddress(config),
        signal: wait?.ending,
      });
    } catch (error) {
      const message = `--server-id is not given, and cannot be found: ${errorMessage(error)}${adviceOn(error, access)}`;
      if (wait === undefined) return { flag: '--server-id', message };
      await wait.beforeRetry(message, config);
    }
  }
}

/** Where a response is the wrong one, most often a right is missing. */
function adviceOn(error: unknown, access: EmbeddedSyncConfig['access']): string {
  if (!('kubeconfig' in access) || !(error instanceof ReadError) || error.code !== 'UnexpectedStatus')
    return '';
  return `. The user of ${access.kubeconfig.path} may lack a right: deploy/kubernetes/reader.yaml has all that reading the cluster takes`;
}
