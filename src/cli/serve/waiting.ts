import type { ServeConfig } from '../../node/configuration/serve-config.ts';
import type { ShutdownSignal } from '../../node/process/signals.ts';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { errorMessage } from '../../runtime/error-message.ts';
import { CommandFailure } from '../terminal/command-context.ts';
import type { WaitBeforeRetry } from './find-own-server-id.ts';

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
interface Waiting {
  readonly beforeRetry: WaitBeforeRetry;
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
  let server: { close(): Promise<void> } | undefined;

  function tell(text: string): void {
    const now = clock.monotonic();
    const before = told.get(text);
    if (before !== undefined && now - before < toldAgainAfter) return;
    told.set(text, now);
    writeError(text);
  }

  return {
    async beforeRetry(reason, config) {
      tell(`waiting, and asking again every ${retryInterval / 1000} s: ${reason}\n`);
      try {
        server ??= await listen(config);
      } catch (error) {
        // What listens there may end before the wait does: the start itself will tell.
        tell(`warning: nobody can be told of this at the router's port: ${errorMessage(error)}\n`);
      }
      const over = new AbortController();
      const signal = await Promise.race([
        shutdownSignal(),
        clock.sleep(retryInterval, over.signal).then(() => undefined),
      ]);
      over.abort();
      if (signal !== undefined) throw new CommandFailure(1, [`ended by ${signal} before it could start`]);
    },
    async end() {
      await server?.close();
      server = undefined;
    },
  };
}
