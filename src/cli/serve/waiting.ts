import type { ServeConfig } from '../../node/configuration/serve-config.ts';
import type { ShutdownSignal } from '../../node/process/signals.ts';
import { errorMessage } from '../../runtime/errors.ts';
import { type Clock, systemClock } from '../../runtime/time.ts';
import { CommandFailure } from '../terminal/command-context.ts';
import type { WaitForServerId } from './find-own-server-id.ts';

/** Milliseconds. */
const retryInterval = 2_000;
/** Milliseconds after which the same reason is told again: a log that is read later begins somewhere. */
const toldAgainAfter = 60_000;

interface WaitingOptions {
  readonly writeError: (text: string) => void;
  readonly shutdownSignal: () => Promise<ShutdownSignal>;
  /** Says to those who ask the router that it waits. */
  readonly listen: (config: ServeConfig) => Promise<{ close(): Promise<void> }>;
  /** Default: the machine's. */
  readonly clock?: Pick<Clock, 'monotonic' | 'sleep'> | undefined;
}

/** How a router waits that cannot start yet. */
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

  /** Once: whatever waits for a promise is kept as long as that is not settled. */
  async function followSignal(): Promise<void> {
    if (isFollowing) return;
    isFollowing = true;
    signal = await shutdownSignal();
    ending.abort();
  }

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
      void followSignal();
      if (signal === undefined) await untilNext(reason, config);
      if (signal !== undefined) throw new CommandFailure(1, [`ended by ${signal} before it could start`]);
    },
    async end() {
      await server?.close();
      server = undefined;
    },
  };
}
