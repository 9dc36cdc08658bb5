import { hostname } from 'node:os';
import type { ClusterAccessOptions, ServeConfig } from '../../node/configuration/serve-config.ts';
import { isLocalServerAddress } from '../../node/process/local-server-id.ts';
import type { ShutdownSignal } from '../../node/process/signals.ts';
import { errorMessage } from '../../runtime/errors.ts';
import { type Clock, systemClock } from '../../runtime/time.ts';
import { type FoundServerId, localApiServer } from '../../sync/node/find-server-id.ts';
import { ReadError } from '../../sync/server-documents.ts';
import type { GivenValues, SettingIssue } from '../settings/read-settings.ts';
import { CommandFailure } from '../terminal/command-context.ts';
import { readsForOneServer } from './found-settings.ts';

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

export const serverIdToBeFound = 'not-known-yet';

/** @param wait `undefined`: one attempt, and an error when it fails */
export async function findOwnServerId(
  config: ServeConfig,
  wait: WaitForServerId | undefined,
): Promise<FoundServerId | SettingIssue> {
  const { embeddedSync: access, local } = config;
  if (access === undefined || local === undefined) throw new TypeError('There is no cluster to ask.');
  const { findServerId } = await import('../../sync/node/find-server-id.ts');
  for (;;) {
    try {
      return await findServerId({
        access,
        local: localApiServer(local),
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
function adviceOn(error: unknown, access: ClusterAccessOptions): string {
  if (!('kubeconfig' in access) || !(error instanceof ReadError) || error.code !== 'UnexpectedStatus')
    return '';
  return `. The user of ${access.kubeconfig} may lack a right: deploy/kubernetes/reader.yaml has all that reading the cluster takes`;
}

/** Milliseconds. */
const retryInterval = 2_000;
/** Milliseconds after which the same reason is told again: a log that is read later begins somewhere. */
const toldAgainAfter = 60_000;

interface WaitingOptions {
  readonly writeError: (text: string) => void;
  readonly shutdownSignal: () => Promise<ShutdownSignal>;
  /** Says to those who ask the router that it waits. */
  readonly listen: (config: ServeConfig) => Promise<{ close(): Promise<void> }>;
  readonly clock?: Pick<Clock, 'monotonic' | 'sleep'> | undefined;
}

interface Waiting extends WaitForServerId {
  /** To be called before the router itself listens. */
  end(): Promise<void>;
}

/** An API server that starts with this node cannot tell yet: the reason is told, again each minute, and asked for again. */
export function createWaiting({
  writeError,
  shutdownSignal,
  listen,
  clock = systemClock,
}: WaitingOptions): Waiting {
  const told = new Map<string, number>();
  const ending = new AbortController();
  let signal: ShutdownSignal | undefined;
  let isFollowing = false;
  let server: { close(): Promise<void> } | undefined;

  function tell(text: string): void {
    const now = clock.monotonic();
    const before = told.get(text);
    if (before !== undefined && now - before < toldAgainAfter) return;
    told.set(text, now);
    writeError(text);
  }

  async function untilNext(reason: string, config: ServeConfig): Promise<void> {
    tell(`waiting, and asking again every ${retryInterval / 1000} s: ${reason}\n`);
    try {
      server ??= await listen(config);
    } catch (error) {
      // What listens there may end before the wait does: the start itself will tell.
      tell(`warning: nobody can be told of this at the router's port: ${errorMessage(error)}\n`);
    }
    await clock.sleep(retryInterval, ending.signal);
  }

  return {
    ending: ending.signal,
    async beforeRetry(reason, config) {
      // Once: whatever waits for a promise is kept as long as that is not settled.
      if (!isFollowing) {
        isFollowing = true;
        void shutdownSignal().then((given) => {
          signal = given;
          ending.abort();
        });
      }
      if (signal === undefined) await untilNext(reason, config);
      if (signal !== undefined) throw new CommandFailure(1, [`ended by ${signal} before it could start`]);
    },
    async end() {
      await server?.close();
      server = undefined;
    },
  };
}
